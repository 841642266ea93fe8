// The picture as an SVG file, for documents: vectors, and nothing in it that runs.

import type { UndirectedGraph } from "graphology";
import type { Shape } from "../../model/looks.ts";

export interface Caption {
    title: string;
    /** Colours of the text and behind everything. */
    ink: string;
    page: string;
    /** Names of groups, where they are in the graph. */
    labels: ReadonlyMap<string, Point>;
    /** What colours mean: of nodes with a shape, and of links. */
    entries: { text: string; colour: string; shape?: Shape }[];
}

interface Point {
    x: number;
    y: number;
}

interface Path {
    look: Attributes;
    /** Above the others. */
    top: boolean;
    parts: string[];
}

type Attributes = Record<string, string | number>;

const SVG = "http://www.w3.org/2000/svg";

/** Pixels: the longer side of the graph, the space around it, and a line of text. */
const SIZE = 1000;
const MARGIN = 30;
const LINE = 24;

/** Entries on one line. */
const COLUMNS = 6;

/** Draws the graph as it is arranged. */
export function svgOf(graph: UndirectedGraph, caption: Caption): string {
    const { place, width, height } = frame(graph);
    const lines = 1 + Math.ceil(caption.entries.length / COLUMNS);
    const whole = height + lines * LINE + MARGIN / 2;
    const root = element("svg", { viewBox: `0 0 ${width} ${whole}` });
    root.append(
        element("title", {}, caption.title),
        element("rect", { width, height: whole, fill: caption.page }),
        ...links(graph, place),
        ...nodes(graph, place),
    );
    const text = element("g", { fill: caption.ink, "font-family": "system-ui, sans-serif" });
    for (const [name, at] of caption.labels) {
        const { x, y } = place(at);
        text.append(element("text", { x, y, "text-anchor": "middle", "font-size": 16 }, name));
    }
    text.append(element("text", { x: MARGIN, y: height + 12, "font-size": 18 }, caption.title));
    caption.entries.forEach(({ text: meaning, colour, shape }, number) => {
        const x = MARGIN + 8 + (number % COLUMNS) * ((width - 2 * MARGIN) / COLUMNS);
        const y = height + 12 + LINE * (1 + Math.floor(number / COLUMNS));
        const sign =
            shape === undefined
                ? element("path", { d: `M${x - 8} ${y - 5}h16`, stroke: colour, "stroke-width": 3 })
                : node(shape, { x, y: y - 5 }, 6, colour);
        text.append(sign, element("text", { x: x + 14, y, "font-size": 14 }, meaning));
    });
    root.append(text);
    return `${new XMLSerializer().serializeToString(root)}\n`;
}

/** From places in the graph, where y grows upwards, to those in the file. */
function frame(graph: UndirectedGraph) {
    const points = graph.mapNodes((_, { x, y }) => ({ x, y }) as Point);
    const [left, right] = range(points.map(({ x }) => x));
    const [bottom, top] = range(points.map(({ y }) => y));
    const scale = (SIZE - 2 * MARGIN) / (Math.max(right - left, top - bottom) || 1);
    return {
        place: ({ x, y }: Point) => ({
            x: rounded(MARGIN + (x - left) * scale),
            y: rounded(MARGIN + (top - y) * scale),
        }),
        width: rounded(Math.max(SIZE / 2, (right - left) * scale + 2 * MARGIN)),
        height: rounded((top - bottom) * scale + 2 * MARGIN),
    };
}

/** Links that look alike are one path, which keeps the file small. */
function links(graph: UndirectedGraph, place: (at: Point) => Point): Element[] {
    const paths = new Map<string, Path>();
    graph.forEachEdge((_, { color, size, top }, _left, _right, left, right) => {
        // As wide as on the screen.
        const look = { stroke: color, "stroke-width": rounded(size / 2), fill: "none" };
        const key = `${top} ${color} ${look["stroke-width"]}`;
        const path: Path = paths.get(key) ?? { look, top, parts: [] };
        const [from, to] = [place(left as Point), place(right as Point)];
        path.parts.push(`M${from.x} ${from.y}L${to.x} ${to.y}`);
        paths.set(key, path);
    });
    return [...paths.values()]
        .sort((one, other) => Number(one.top) - Number(other.top))
        .map(({ look, parts }) => element("path", { ...look, d: parts.join("") }));
}

function nodes(graph: UndirectedGraph, place: (at: Point) => Point): Element[] {
    return graph.mapNodes((name, { x, y, shape, size, color, node: { state } }) => {
        const drawn = node(shape, place({ x, y }), size, color);
        drawn.append(element("title", {}, `${name}: ${state}`));
        return drawn;
    });
}

function node(shape: Shape, { x, y }: Point, radius: number, fill: string): Element {
    if (shape === "circle") {
        return element("circle", { cx: x, cy: y, r: rounded(radius), fill });
    }
    const corners = CORNERS[shape].map(
        ([right, down]) => `${rounded(x + right * radius)} ${rounded(y + down * radius)}`,
    );
    return element("path", { d: `M${corners.join("L")}Z`, fill });
}

const CORNERS: Record<Exclude<Shape, "circle">, [number, number][]> = {
    square: [
        [-0.9, -0.9],
        [0.9, -0.9],
        [0.9, 0.9],
        [-0.9, 0.9],
    ],
    triangle: [
        [0, -1],
        [1, 0.9],
        [-1, 0.9],
    ],
    diamond: [
        [0, -1.2],
        [1.2, 0],
        [0, 1.2],
        [-1.2, 0],
    ],
};

/** What no XML file may hold, escaped or not. */
const FORBIDDEN = /[^\t\n\r -\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/** The document escapes the text, whatever a name holds. */
function element(name: string, attributes: Attributes, text = ""): Element {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) {
        made.setAttribute(key, String(value));
    }
    made.textContent = text.replace(FORBIDDEN, "\uFFFD");
    return made;
}

function range(values: number[]): [number, number] {
    return values.reduce(
        ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
        [values[0] ?? 0, values[0] ?? 0],
    );
}

function rounded(value: number): number {
    return Math.round(value * 10) / 10;
}
