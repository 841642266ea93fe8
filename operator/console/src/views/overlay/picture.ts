// The picture of an overlay: a graph that follows the document, drawn by sigma.js.
//
// An update changes only what differs: unchanged nodes and links are the same objects in two
// documents. Positions stay as they are unless much of the graph has changed; a new node appears
// among its neighbours.

import { UndirectedGraph } from "graphology";
import type { ClusterNode, Details, Link } from "../../model/document.ts";
import { ends } from "../../model/graph.ts";
import {
    busiest,
    lookOf,
    radius,
    rateOf,
    SERIES,
    STATES,
    seriesColour,
    width,
} from "../../model/looks.ts";
import { colours, faint, onTheme } from "../../parts/colours.ts";
import { Arrangement, type Layout } from "./arrangement.ts";
import type { BatchedSigma } from "./batch.ts";
import { draw } from "./drawing.ts";
import { svgOf } from "./saved.ts";

export interface Scene {
    details: Details;
    layout: Layout;
    /** The channel whose rates the links show; empty for all. */
    channel: string;
    /** All channels, in the order of their colours. */
    channels: readonly string[];
    /** The node whose links stand out; empty for none. */
    selected: string;
}

const COLOURS = [
    ...["--ink", "--quiet", "--page", "--line"],
    ...["--node-joined", "--node-joining", "--node-silent", "--node-absent"],
    ...Array.from({ length: SERIES }, (_, index) => seriesColour(index)),
];

export class Picture {
    readonly #graph = new UndirectedGraph();
    readonly #arrangement = new Arrangement(this.#graph);
    readonly #endTheme = onTheme(() => this.#restyle());
    #sigma: BatchedSigma | undefined;
    #palette = colours(COLOURS);
    #scene: Scene | undefined;
    #signs = new Map<string, HTMLElement>();
    #drawn = false;

    /** Draws into `canvas`, with names of groups in `signs`. */
    constructor(
        private readonly canvas: HTMLElement,
        private readonly signs: HTMLElement,
        private readonly select: (node: string) => void,
    ) {}

    update(scene: Scene): void {
        const before = this.#scene;
        this.#scene = scene;
        this.#change(() => {
            const added = this.#updateNodes(scene.details.nodes);
            this.#updateLinks(before);
            this.#arrangement.update(scene.layout, scene.details, added);
            if (before?.selected !== scene.selected) {
                const ends = [before?.selected ?? "", scene.selected];
                const nodes = ends.filter(name => this.#graph.hasNode(name));
                this.#sigma?.refresh({ partialGraph: { nodes } });
            }
        });
        if (before !== undefined && before.layout !== scene.layout) {
            this.fit();
        }
        this.#sign();
        if (this.#sigma === undefined) {
            this.#begin();
        }
    }

    /** Arranges all nodes from scratch. */
    again(): void {
        if (this.#scene !== undefined) {
            this.#arrangement.again(this.#scene.layout, this.#scene.details);
            this.fit();
        }
    }

    fit(): void {
        void this.#sigma?.getCamera().reset({ duration: 200 });
    }

    zoom(factor: number): void {
        const camera = this.#sigma?.getCamera();
        void camera?.animate({ ratio: camera.getState().ratio / factor }, { duration: 150 });
    }

    /** Moves the camera to a node. */
    show(node: string): void {
        const at = this.#sigma?.getNodeDisplayData(node);
        const camera = this.#sigma?.getCamera();
        if (at !== undefined && camera !== undefined) {
            const ratio = Math.min(0.6, camera.getState().ratio);
            void camera.animate({ x: at.x, y: at.y, ratio }, { duration: 200 });
        }
    }

    /** The node that is next in a direction; see Arrangement. */
    next(node: string, x: number, y: number): string {
        return this.#arrangement.next(node, x, y);
    }

    /** The picture as the text of an SVG file; names of nodes are their titles. */
    svg(title: string): string {
        const states = new Set(this.#graph.mapNodes((_, { node }) => node.state));
        const channels = this.#scene?.channels ?? [];
        return svgOf(this.#graph, {
            title,
            ink: this.#colour("--ink"),
            page: this.#colour("--page"),
            labels: this.#arrangement.labels,
            entries: [
                ...Object.entries(STATES)
                    .filter(([state]) => states.has(state))
                    .map(([text, { shape, colour }]) => ({
                        text,
                        shape,
                        colour: this.#colour(colour),
                    })),
                ...channels.map((text, at) => ({ text, colour: this.#colour(seriesColour(at)) })),
            ],
        });
    }

    close(): void {
        this.#endTheme();
        this.#arrangement.close();
        this.#sigma?.kill();
    }

    #begin(): void {
        this.#sigma = draw(
            this.#graph,
            this.canvas,
            name => this.#colour(name),
            () => this.#scene?.selected ?? "",
        );
        this.#sigma.on("clickNode", ({ node }) => this.select(node));
        this.#sigma.on("clickStage", () => this.select(""));
        this.#sigma.on("afterRender", () => this.#rendered());
        this.#rendered();
    }

    #rendered(): void {
        if (!this.#drawn && this.#graph.order > 0) {
            this.#drawn = true;
            performance.clearMarks("overlay-drawn");
            // In the next frame this one is on the screen.
            requestAnimationFrame(() => performance.mark("overlay-drawn"));
        }
        for (const [name, sign] of this.#signs) {
            const at = this.#arrangement.labels.get(name);
            const place = at && this.#sigma?.graphToViewport(at);
            sign.style.transform = place
                ? `translate(${Math.round(place.x)}px, ${Math.round(place.y)}px) translate(-50%, -50%)`
                : "";
        }
    }

    /** Changes the graph; what differs is drawn once. */
    #change(change: () => void): void {
        if (this.#sigma === undefined) {
            change();
        } else {
            this.#sigma.batch(change);
        }
    }

    // What the document says.

    /** Returns the nodes that are new. */
    #updateNodes(nodes: Record<string, ClusterNode>): string[] {
        const added: string[] = [];
        const size = radius(Object.keys(nodes).length);
        for (const name of this.#graph.nodes()) {
            if (nodes[name] === undefined) {
                this.#graph.dropNode(name);
            }
        }
        for (const [name, node] of Object.entries(nodes)) {
            // Names such as `constructor`, which no pod of a cluster has: sigma.js keeps what it
            // knows of nodes in plain objects, where it would find or change what they inherit.
            if (name in Object.prototype) {
                continue;
            }
            if (!this.#graph.hasNode(name)) {
                const look = this.#nodeLook(node, size);
                this.#graph.addNode(name, { x: 0, y: 0, label: name, node, ...look });
                added.push(name);
                continue;
            }
            const attributes = this.#graph.getNodeAttributes(name);
            if (attributes.node !== node || attributes.size !== size) {
                this.#graph.mergeNodeAttributes(name, { node, ...this.#nodeLook(node, size) });
            }
        }
        return added;
    }

    #updateLinks(before: Scene | undefined): void {
        const { details, channel, selected } = this.#scene as Scene;
        const anew = before?.channel !== channel || before.selected !== selected;
        const [earlier, links] = [before?.details.links ?? {}, details.links];
        if (earlier === links && !anew) {
            return;
        }
        for (const key in earlier) {
            if (links[key] === undefined && this.#graph.hasEdge(key)) {
                this.#graph.dropEdge(key);
            }
        }
        for (const key in links) {
            const link = links[key] as Link;
            const isThere = this.#graph.hasEdge(key);
            if (isThere && (anew || earlier[key] !== link)) {
                this.#graph.replaceEdgeAttributes(key, this.#linkLook(key, link));
            } else if (!isThere) {
                const [left, right] = ends(key);
                if (this.#graph.hasNode(left) && this.#graph.hasNode(right) && left !== right) {
                    this.#graph.addEdgeWithKey(key, left, right, this.#linkLook(key, link));
                }
            }
        }
    }

    // How it looks.

    #nodeLook({ state }: ClusterNode, size: number) {
        const { shape, colour } = lookOf(state);
        return { shape, color: this.#colour(colour), size };
    }

    /** With a node selected, its links stand out and all others step back. */
    #linkLook(key: string, link: Link) {
        const { channel, channels, selected } = this.#scene as Scene;
        const rate = rateOf(link, channel);
        const place = rate ? channels.indexOf(channel || (busiest(link) ?? "")) : -1;
        const size = width(rate);
        if (selected !== "" && ends(key).includes(selected)) {
            const color = this.#colour(place < 0 ? "--ink" : seriesColour(place));
            return { link, size: size + 1, color, top: true };
        }
        const dense = this.#graph.size > 1500 ? 0.3 : 0.5;
        const opacity = selected !== "" ? 0.12 : place < 0 ? dense : dense + 0.2;
        const color = faint(this.#colour(place < 0 ? "--quiet" : seriesColour(place)), opacity);
        return { link, size, color, top: false };
    }

    #colour(name: string): string {
        return this.#palette.get(name) ?? "#888";
    }

    #restyle(): void {
        this.#palette = colours(COLOURS);
        this.#change(() => {
            this.#graph.updateEachNodeAttributes((_, attributes) =>
                Object.assign(attributes, this.#nodeLook(attributes.node, attributes.size)),
            );
            this.#graph.updateEachEdgeAttributes((key, { link }) => this.#linkLook(key, link));
        });
    }

    /** Names the groups of nodes. */
    #sign(): void {
        const { labels } = this.#arrangement;
        if ([...labels.keys()].join("\n") === [...this.#signs.keys()].join("\n")) {
            return;
        }
        this.signs.replaceChildren();
        this.#signs.clear();
        for (const name of labels.keys()) {
            const sign = document.createElement("span");
            sign.textContent = name;
            this.signs.append(sign);
            this.#signs.set(name, sign);
        }
    }
}
