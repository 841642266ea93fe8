// ForceAtlas2 in a thread of its own. A newer order replaces the one that is being computed.
//
// Jacomy et al., ForceAtlas2, a continuous graph layout algorithm for handy network visualization,
// PLoS ONE 9(6), 2014. The iterations are graphology's.

import iterate from "graphology-layout-forceatlas2/iterate.js";

export interface Order {
    number: number;
    /** Columns of graphology's node matrix; x and y are where the nodes are now. */
    nodes: Float32Array;
    edges: Float32Array;
    settings: Record<string, number | boolean>;
    iterations: number;
}

export interface Answer {
    number: number;
    /** x and y of each node. */
    positions: Float32Array;
    done: boolean;
}

export const COLUMNS = 10;

/** Milliseconds between two answers: drawing costs the page more than iterating here. */
const PACE = 250;

let newest = 0;

self.onmessage = async ({ data }: MessageEvent<Order>) => {
    newest = data.number;
    let answered = performance.now();
    for (let done = 0; done < data.iterations; done += 1) {
        iterate(data.settings, data.nodes, data.edges);
        if (performance.now() - answered >= PACE) {
            answer(data, false);
            answered = performance.now();
            // Lets a newer order in.
            await new Promise(resolve => setTimeout(resolve));
            if (newest !== data.number) {
                return;
            }
        }
    }
    answer(data, true);
};

function answer({ number, nodes }: Order, done: boolean): void {
    const count = nodes.length / COLUMNS;
    const positions = new Float32Array(2 * count);
    for (let index = 0; index < count; index += 1) {
        positions[2 * index] = nodes[index * COLUMNS] ?? 0;
        positions[2 * index + 1] = nodes[index * COLUMNS + 1] ?? 0;
    }
    postMessage({ number, positions, done } satisfies Answer, { transfer: [positions.buffer] });
}
