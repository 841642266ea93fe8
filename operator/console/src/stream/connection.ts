// The stream of events over HTTP, reconnected until it is closed.
//
// Not an EventSource: that gives up for good at the first answer other than 200, such as 503 while
// operators elect a leader, and never says why.

import { EventParser, type ServerEvent } from "./sse.ts";

export interface Status {
    kind: "connecting" | "live" | "waiting" | "refused";
    /** For people; empty when live. */
    text: string;
}

/** Milliseconds without any byte after which a stream is dead: the operator sends one each 15 s. */
const SILENCE = 45_000;
const LONGEST_DELAY = 10_000;

export class Connection {
    #abort = new AbortController();
    #last = "";
    #delay = 0;

    /**
     * Connects. `query` is that of the stream; `onEvents` gets the events in order and throws if it
     * cannot read them.
     */
    constructor(
        query: string,
        private readonly onEvents: (events: ServerEvent[]) => void,
        private readonly onStatus: (status: Status) => void,
    ) {
        void this.#run(`v1/stream${query}`);
    }

    /** Ends the stream; nothing is reported after that. */
    close(): void {
        this.#abort.abort();
    }

    async #run(path: string): Promise<void> {
        const closed = this.#abort.signal;
        while (!closed.aborted) {
            const failure = await this.#attempt(path).catch(
                (error: unknown): Failure => ({ text: message(error) }),
            );
            if (closed.aborted) {
                return;
            }
            this.#delay = Math.min(LONGEST_DELAY, this.#delay === 0 ? 500 : this.#delay * 2);
            this.onStatus({ kind: failure.refused ? "refused" : "waiting", text: failure.text });
            await pause(Math.max(this.#delay, failure.after ?? 0), closed);
        }
    }

    /** One connection, until it ends. */
    async #attempt(path: string): Promise<Failure> {
        const silence = new Silence(SILENCE);
        const signal = AbortSignal.any([this.#abort.signal, silence.signal]);
        try {
            const headers: Record<string, string> = { Accept: "text/event-stream" };
            if (this.#last) {
                headers["Last-Event-ID"] = this.#last;
            }
            const response = await fetch(path, { headers, signal, cache: "no-store" });
            if (!response.ok || response.body === null) {
                return await refusal(response);
            }
            this.onStatus({ kind: "live", text: "" });
            const parser = new EventParser();
            const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
            for (;;) {
                const { done, value } = await reader.read();
                if (done) {
                    return { text: "the operator has ended the stream" };
                }
                silence.reset();
                const events = parser.push(value);
                if (events.length > 0) {
                    this.#delay = 0;
                    this.#last = events.at(-1)?.id ?? this.#last;
                    this.onEvents(events);
                }
            }
        } finally {
            silence.stop();
        }
    }
}

interface Failure {
    text: string;
    refused?: boolean;
    /** Milliseconds after which another attempt makes sense. */
    after?: number;
}

class Silence {
    readonly #abort = new AbortController();
    #timer: ReturnType<typeof setTimeout> | undefined;

    constructor(private readonly limit: number) {
        this.reset();
    }

    get signal(): AbortSignal {
        return this.#abort.signal;
    }

    reset(): void {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(
            () => this.#abort.abort(new Error("nothing came from the operator")),
            this.limit,
        );
    }

    stop(): void {
        clearTimeout(this.#timer);
    }
}

async function refusal(response: Response): Promise<Failure> {
    const text = (await response.text()).trim().slice(0, 500) || `HTTP ${response.status}`;
    const seconds = Number(response.headers.get("Retry-After"));
    return response.status < 500
        ? { text, refused: true, after: LONGEST_DELAY }
        : { text, after: Number.isFinite(seconds) ? seconds * 1000 : 0 };
}

function message(error: unknown): string {
    if (error instanceof TypeError) {
        return "the operator cannot be reached: is `kubectl partisan web` still running?";
    }
    return error instanceof Error ? error.message : String(error);
}

function pause(milliseconds: number, closed: AbortSignal): Promise<void> {
    return new Promise(resolve => {
        const timer = setTimeout(resolve, milliseconds);
        closed.addEventListener("abort", () => {
            clearTimeout(timer);
            resolve();
        });
    });
}
