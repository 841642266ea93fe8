// The page over time: route and stream in, one Page for each frame out.

import { type Page, pageOf } from "../model/page.ts";
import { parse, query } from "../model/route.ts";
import { Connection, type Status } from "./connection.ts";
import type { ServerEvent } from "./sse.ts";
import { EMPTY, receive, type State } from "./store.ts";

/** Measures that the browser keeps before they are cleared. */
const MAX_MEASURES = 1000;

export class Live {
    #connection: Connection | undefined;
    #query: string | undefined;
    #state: State = EMPTY;
    #status: Status = { kind: "connecting", text: "" };
    #pending: ServerEvent[] = [];
    #scheduled = false;
    #measures = 0;

    /** Begins; `show` is called at most once a frame, with all changes since the last call. */
    constructor(private readonly show: (page: Page) => void) {
        window.addEventListener("hashchange", () => this.#follow());
        document.addEventListener("visibilitychange", () => this.#flush());
        this.#follow();
    }

    /** Goes where the fragment leads; another cluster needs another stream. */
    #follow(): void {
        const next = query(parse(location.hash));
        if (next !== this.#query) {
            this.#query = next;
            this.#connection?.close();
            this.#pending = [];
            this.#state = { ...EMPTY, snapshots: this.#state.snapshots };
            this.#status = { kind: "connecting", text: "" };
            this.#connection = new Connection(
                next,
                events => {
                    this.#pending.push(...events);
                    this.#schedule();
                },
                status => {
                    this.#status = status;
                    this.#schedule();
                },
            );
        }
        this.#flush();
    }

    /** A hidden tab has no frames, but its changes must not pile up. */
    #schedule(): void {
        if (this.#scheduled) {
            return;
        }
        this.#scheduled = true;
        if (document.hidden) {
            setTimeout(() => this.#flush(), 1000);
        } else {
            requestAnimationFrame(() => this.#flush());
        }
    }

    #flush(): void {
        this.#scheduled = false;
        const events = this.#pending;
        this.#pending = [];
        const start = performance.now();
        try {
            this.#state = events.reduce(receive, this.#state);
        } catch (error) {
            this.#connection?.close();
            this.#status = { kind: "refused", text: error instanceof Error ? error.message : "" };
        }
        this.show(pageOf(parse(location.hash), this.#state, this.#status));
        if (events.length > 0) {
            this.#measures += 1;
            if (this.#measures % MAX_MEASURES === 0) {
                performance.clearMeasures("update");
            }
            performance.measure("update", { start });
        }
    }
}
