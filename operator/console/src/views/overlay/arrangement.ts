// Where the nodes of a graph are: arranged by a layout, and left alone as long as that is right.

import type { UndirectedGraph } from "graphology";
import type { Details } from "../../model/document.ts";
import { byName } from "../../model/graph.ts";
import {
    among,
    aroundHubs,
    circle,
    disc,
    type Point,
    type Positions,
    zones,
} from "../../model/positions.ts";
import { Force } from "./force.ts";

export type Layout = "force" | "zones" | "hubs" | "circle";

/** Share of the links that must differ before the nodes are arranged anew. */
const MUCH = 0.5;

export class Arrangement {
    /** Names of groups of nodes, and where they are. */
    labels: Positions = new Map();

    readonly #force = new Force((at, done) => {
        if (done || !matchMedia("(prefers-reduced-motion: reduce)").matches) {
            this.#move(at);
            this.#among([...this.#loose]);
        }
    });
    #layout: Layout | undefined;
    /** Links when the nodes were arranged last. */
    #links = new Set<string>();
    /** Nodes that had no link when they got their place in the force layout. */
    #loose = new Set<string>();

    constructor(private readonly graph: UndirectedGraph) {}

    /**
     * Follows the graph: new nodes get a place, and all of them if much has changed.
     */
    update(layout: Layout, details: Details, added: readonly string[]): void {
        if (added.length === this.graph.order) {
            this.#move(disc(this.#names()));
        }
        const few = added.length <= this.graph.order / 4 && !this.#differsMuch();
        if (this.#layout !== layout || !few || (added.length > 0 && layout !== "force")) {
            this.#among(added);
            this.arrange(layout, details);
            return;
        }
        const arrived = [...this.#loose].filter(name => this.#degree(name) > 0);
        this.#among([...added, ...arrived]);
    }

    /** Arranges all nodes; the force layout begins where they are. */
    arrange(layout: Layout, details: Details): void {
        this.#layout = layout;
        this.#links = new Set(this.graph.edges());
        this.#force.cancel();
        this.#loose.clear();
        this.labels = new Map();
        if (layout === "zones") {
            const { at, labels } = zones(details.nodes);
            this.labels = labels;
            this.#move(at);
        } else if (layout === "hubs") {
            this.#move(aroundHubs(details.nodes, details.links));
        } else if (layout === "circle") {
            this.#move(circle(this.#names()));
        } else {
            const ends = this.graph.mapEdges((_, __, source, target) => [source, target] as const);
            const [tied, loose] = [new Map<string, Point>(), [] as string[]];
            for (const name of this.#names()) {
                if (this.#degree(name) > 0) {
                    tied.set(name, this.#at(name));
                } else {
                    loose.push(name);
                }
            }
            // Forces would drive nodes without links far away.
            this.#loose = new Set(loose);
            this.#force.start(tied, ends);
        }
    }

    /** Forgets where the nodes are, and arranges them. */
    again(layout: Layout, details: Details): void {
        this.#move(disc(this.#names()));
        this.arrange(layout, details);
    }

    /**
     * The node that is next in a direction, as seen from another one: `x` and `y` are -1, 0 or 1,
     * up is positive. Without one, the node itself; from no node, the first.
     */
    next(node: string, x: number, y: number): string {
        if (!this.graph.hasNode(node)) {
            return this.#names()[0] ?? "";
        }
        const from = this.#at(node);
        let found = node;
        let least = Number.POSITIVE_INFINITY;
        for (const [name, to] of this.graph.mapNodes(
            (name, { x, y }) => [name, { x, y }] as const,
        )) {
            const along = (to.x - from.x) * x + (to.y - from.y) * y;
            const across = Math.abs((to.x - from.x) * y) + Math.abs((to.y - from.y) * x);
            if (along > 0 && along + 2 * across < least) {
                least = along + 2 * across;
                found = name;
            }
        }
        return found;
    }

    close(): void {
        this.#force.close();
    }

    #differsMuch(): boolean {
        const links = this.graph.edges();
        const same = links.filter(key => this.#links.has(key)).length;
        return same < MUCH * Math.max(links.length, this.#links.size);
    }

    /** Places nodes among their neighbours. */
    #among(names: readonly string[]): void {
        const fresh = new Set(names);
        const spread = this.#radius();
        for (const name of names) {
            const neighbours = this.graph
                .neighbors(name)
                .filter(each => !fresh.has(each) && !this.#loose.has(each));
            const points = neighbours.map(each => this.#at(each));
            this.graph.mergeNodeAttributes(name, among(name, points, spread));
            fresh.delete(name);
            if (points.length > 0) {
                this.#loose.delete(name);
            } else {
                this.#loose.add(name);
            }
        }
    }

    /** The greatest distance of a node with links from the middle. */
    #radius(): number {
        let most = 1;
        this.graph.forEachNode((name, { x, y }) => {
            if (!this.#loose.has(name)) {
                most = Math.max(most, Math.hypot(x, y));
            }
        });
        return most;
    }

    #degree(name: string): number {
        return this.graph.hasNode(name) ? this.graph.degree(name) : 0;
    }

    #names(): string[] {
        return this.graph.nodes().sort(byName);
    }

    #at(node: string): Point {
        const { x, y } = this.graph.getNodeAttributes(node);
        return { x, y };
    }

    #move(at: Positions): void {
        this.graph.updateEachNodeAttributes(
            (name, attributes) => Object.assign(attributes, at.get(name)),
            { attributes: ["x", "y"] },
        );
    }
}
