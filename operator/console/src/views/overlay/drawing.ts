// How sigma.js draws the graph: four shapes, labels where there is room, the selected node marked.

import type { UndirectedGraph } from "graphology";
import { sdfCircle, sdfDiamond, sdfSquare, sdfTriangle } from "sigma/rendering";
import { BatchedSigma } from "./batch.ts";

/** Draws the graph into an element. `colour` reads the palette, `selected` names a node. */
export function draw(
    graph: UndirectedGraph,
    canvas: HTMLElement,
    colour: (name: string) => string,
    selected: () => string,
): BatchedSigma {
    const marked = (hovered: boolean, node: unknown) => hovered || node === selected();
    return new BatchedSigma(graph, canvas, {
        primitives: {
            nodes: { shapes: [sdfCircle(), sdfSquare(), sdfTriangle(), sdfDiamond()] },
        },
        styles: {
            nodes: {
                x: { attribute: "x" },
                y: { attribute: "y" },
                size: { attribute: "size" },
                color: { attribute: "color" },
                shape: { attribute: "shape" },
                label: { attribute: "label" },
                labelColor: () => colour("--ink"),
                labelSize: 12,
                labelFont: "system-ui, sans-serif",
                labelVisibility: ({ label }, { isHovered }) =>
                    marked(isHovered, label) ? "visible" : "auto",
                depth: ({ label }, { isHovered }) =>
                    marked(isHovered, label) ? "topNodes" : "nodes",
                backdropVisibility: ({ label }, { isHovered }) =>
                    marked(isHovered, label) ? "visible" : "hidden",
                backdropColor: () => colour("--page"),
                backdropShadowColor: "rgba(0, 0, 0, 0.4)",
                backdropShadowBlur: 6,
                backdropPadding: 4,
            },
            edges: {
                size: { attribute: "size" },
                color: { attribute: "color" },
                depth: ({ top }) => (top ? "topEdges" : "edges"),
            },
        },
        settings: {
            allowInvalidContainer: true,
            itemSizesReference: "screen",
            labelRenderedSizeThreshold: 5,
            labelDensity: 0.7,
            nodePickingPadding: 4,
            minEdgeThickness: 0.5,
            enableCameraRotation: false,
            maxCameraRatio: 3,
            minCameraRatio: 0.02,
            // A finger that scrolls the page must not be caught by the picture.
            gestureTarget: matchMedia("(pointer: coarse)").matches ? "shared" : "graph",
        },
    });
}
