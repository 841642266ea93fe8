// The changes that the operator has kept, from `/v1/history`, and the document after each of them.

import type { Document } from "../model/document.ts";
import { bare, type Json, merge } from "./merge.ts";
import { type Change, type Snapshot, VERSION } from "./store.ts";

/** Changes between two documents that are kept while replaying. */
const STRIDE = 64;

/** Lines that are read at a time; 16 MiB would block the page otherwise. */
const LINES = 200;

export interface History {
    epoch: string;
    /** Begin of the operator's history, in seconds since 1970. */
    beganAt: number;
    /** The document before the first change. */
    base: Document;
    changes: Change[];
}

/** Loads the history; `query` as of the stream. Throws an Error with a message for people. */
export async function loadHistory(query: string, signal: AbortSignal): Promise<History> {
    const response = await fetch(`v1/history${query}`, { signal, cache: "no-store" });
    const text = await response.text();
    if (!response.ok) {
        throw new Error(text.trim().slice(0, 500) || `HTTP ${response.status}`);
    }
    return readHistory(text, signal);
}

/** Reads the lines of a history, with pauses. */
export async function readHistory(text: string, signal?: AbortSignal): Promise<History> {
    const lines = text.split("\n").filter(line => line !== "");
    const head = JSON.parse(lines[0] ?? "{}") as Snapshot;
    if (head.version !== VERSION) {
        throw new Error("the operator's history has another version: reload the page");
    }
    const changes: Change[] = [];
    for (let at = 1; at < lines.length; at += LINES) {
        for (const line of lines.slice(at, at + LINES)) {
            changes.push(JSON.parse(line) as Change);
        }
        await new Promise(resolve => setTimeout(resolve));
        signal?.throwIfAborted();
    }
    const base = bare(head.document) as unknown as Document;
    return { epoch: head.epoch, beganAt: head.began_at, base, changes };
}

/** Documents of a history by number: 0 is the base, n the one after n changes. */
export class Replay {
    readonly #kept = new Map<number, Json>();

    constructor(readonly history: History) {
        this.#kept.set(0, history.base as unknown as Json);
    }

    at(number: number): Document {
        let from = number - (number % STRIDE);
        while (!this.#kept.has(from)) {
            from -= STRIDE;
        }
        let document = this.#kept.get(from) as Json;
        for (; from < number; from += 1) {
            document = merge(document, this.history.changes[from]?.patch ?? {});
            if ((from + 1) % STRIDE === 0) {
                this.#kept.set(from + 1, document);
            }
        }
        return document as unknown as Document;
    }
}
