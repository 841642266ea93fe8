// sigma.js, shown many changes of its graph by one refresh.

import Sigma from "sigma";

type Options = Parameters<Sigma["refresh"]>[0];

interface Touched {
    nodes: Set<string>;
    edges: Set<string>;
    /** Whether any was dropped. */
    dropped: boolean;
}

/**
 * sigma.js follows each change of the graph by a refresh, and reads everything anew when a node or
 * link is dropped. A batch collects what the refreshes are for; what was dropped is already out of
 * its tables then, so that only the other changes are read.
 */
export class BatchedSigma extends Sigma {
    // Without an initial value: the constructor of sigma.js refreshes before it would be set.
    declare touched: Touched | undefined;

    /** Changes the graph; if anything differs it is drawn with the next frame. */
    batch(change: () => void): void {
        const touched: Touched = { nodes: new Set(), edges: new Set(), dropped: false };
        this.touched = touched;
        try {
            change();
        } finally {
            this.touched = undefined;
        }
        const graph = this.getGraph();
        const nodes = [...touched.nodes].filter(name => graph.hasNode(name));
        const edges = [...touched.edges].filter(key => graph.hasEdge(key));
        if (touched.dropped && edges.length === 0) {
            // An edge among the changes has all of them placed anew, without those that are gone.
            edges.push(...graph.edges().slice(0, 1));
        }
        if (touched.dropped && edges.length === 0) {
            super.refresh({ schedule: true });
        } else if (nodes.length + edges.length > 0) {
            super.refresh({ partialGraph: { nodes, edges }, schedule: true });
        }
    }

    override refresh(options?: Options): this {
        if (this.touched === undefined) {
            return super.refresh(options);
        }
        const { nodes = [], edges = [] } = options?.partialGraph ?? {};
        for (const name of nodes) {
            this.touched.nodes.add(name);
        }
        for (const key of edges) {
            this.touched.edges.add(key);
        }
        this.touched.dropped ||= options?.partialGraph === undefined;
        return this;
    }
}
