// The force layout's side on the page: graph in, positions out, until they rest.

import type { Point, Positions } from "../../model/positions.ts";
import type { Answer, Order } from "./layout.worker.ts";

const COLUMNS = 10;

export class Force {
    readonly #worker = new Worker("layout.worker.js", { type: "module" });
    #number = 0;
    #names: string[] = [];

    constructor(moved: (positions: Positions, done: boolean) => void) {
        this.#worker.onmessage = ({ data }: MessageEvent<Answer>) => {
            if (data.number !== this.#number) {
                return;
            }
            const at: Positions = new Map();
            this.#names.forEach((name, index) => {
                at.set(name, {
                    x: data.positions[2 * index] ?? 0,
                    y: data.positions[2 * index + 1] ?? 0,
                });
            });
            moved(at, data.done);
        };
    }

    /** Begins from where the nodes are. */
    start(at: Map<string, Point>, links: Iterable<readonly [string, string]>): void {
        this.#names = [...at.keys()];
        const index = new Map(this.#names.map((name, place) => [name, place * COLUMNS]));
        const nodes = new Float32Array(at.size * COLUMNS);
        [...at.values()].forEach(({ x, y }, place) => {
            // x, y, four displacements, mass, convergence, size, fixed.
            nodes.set([x, y, 0, 0, 0, 0, 1, 1, 1, 0], place * COLUMNS);
        });
        const edges: number[] = [];
        for (const link of links) {
            const [left, right] = link.map(name => index.get(name));
            if (left !== undefined && right !== undefined) {
                edges.push(left, right, 1);
                nodes[left + 6] = (nodes[left + 6] ?? 0) + 1;
                nodes[right + 6] = (nodes[right + 6] ?? 0) + 1;
            }
        }
        this.#number += 1;
        const order: Order = {
            number: this.#number,
            nodes,
            edges: Float32Array.from(edges),
            settings: settings(at.size),
            iterations: at.size > 500 ? 150 : 400,
        };
        this.#worker.postMessage(order, [order.nodes.buffer, order.edges.buffer]);
    }

    /** Forgets what is being computed. */
    cancel(): void {
        this.#number += 1;
    }

    close(): void {
        this.#worker.terminate();
    }
}

function settings(nodes: number): Record<string, number | boolean> {
    return {
        linLogMode: false,
        outboundAttractionDistribution: false,
        adjustSizes: false,
        edgeWeightInfluence: 1,
        scalingRatio: 10,
        // Components stay near each other.
        strongGravityMode: true,
        gravity: 0.05,
        slowDown: 1 + Math.log(Math.max(1, nodes)),
        barnesHutOptimize: nodes > 200,
        barnesHutTheta: 0.6,
    };
}
