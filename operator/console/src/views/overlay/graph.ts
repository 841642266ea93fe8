// The graph behind a picture.

import { UndirectedGraph } from "graphology";

/**
 * A graph that can change in silence: sigma.js reads everything anew at each link that is dropped,
 * so many changes at once are shown by one refresh.
 */
export class QuietGraph extends UndirectedGraph {
    #quiet = false;

    /** Changes the graph without an event. */
    quietly(change: () => void): void {
        this.#quiet = true;
        try {
            change();
        } finally {
            this.#quiet = false;
        }
    }

    // biome-ignore lint/suspicious/noExplicitAny: as the library declares it
    override emit(event: any, ...values: any[]): boolean {
        return this.#quiet ? false : super.emit(event, ...values);
    }
}
