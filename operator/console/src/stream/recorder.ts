// Records the open cluster for the charts: from the stream, and once from the operator's history.

import type { Document } from "../model/document.ts";
import type { Page } from "../model/page.ts";
import { addFrom, Recording } from "../model/recording.ts";
import { query } from "../model/route.ts";
import { loadHistory } from "./history.ts";
import { type Json, merge } from "./merge.ts";

/** Changes of a history that are applied at a time. */
const CHANGES = 200;

interface Kept {
    key: string;
    recording: Recording;
    past?: Promise<void>;
}

let kept: Kept = { key: "", recording: new Recording() };

/** Adds the current figures; another cluster begins a new recording. */
export function record(page: Page): void {
    if (page.open !== undefined) {
        addFrom(recordingOf(page), page.state.document, page.open.key);
    }
}

export function recordingOf({ open }: Page): Recording {
    const key = open?.key ?? "";
    if (kept.key !== key) {
        kept = { key, recording: new Recording() };
    }
    return kept.recording;
}

/** Adds what the operator has kept, once for each cluster. Rejects with a message for people. */
export function loadPast(page: Page): Promise<void> {
    const recording = recordingOf(page);
    const current = kept;
    current.past ??= past(page, current.key).then(older => recording.prepend(older));
    return current.past;
}

async function past(page: Page, key: string): Promise<Recording> {
    const history = await loadHistory(query(page.route), new AbortController().signal);
    const recording = new Recording();
    let document = history.base;
    addFrom(recording, document, key);
    for (const [number, { patch }] of history.changes.entries()) {
        document = merge(document as unknown as Json, patch) as unknown as Document;
        addFrom(recording, document, key);
        if (number % CHANGES === CHANGES - 1) {
            await new Promise(resolve => setTimeout(resolve));
        }
    }
    return recording;
}
