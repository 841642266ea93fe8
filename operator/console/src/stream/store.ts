// The document that a viewer holds, as a pure function of the events received.

import type { Document } from "../model/document.ts";
import { bare, type Json, merge } from "./merge.ts";
import type { ServerEvent } from "./sse.ts";

/** The version of the documents that this page reads; see docs/guides/console.md. */
export const VERSION = 1;

export interface Snapshot {
    document: Json;
    version: number;
    epoch: string;
    began_at: number;
    sequence: number;
    reason: Reason;
}

/** Why a snapshot replaced what the viewer held. */
export type Reason = "start" | "leader" | "resumed" | "behind";

export interface Change {
    sequence: number;
    /** Seconds since 1970. */
    at: number;
    patch: Json;
}

export interface State {
    document: Document;
    /** Whether a snapshot has arrived. */
    loaded: boolean;
    epoch: string;
    /** Begin of the history, in seconds since 1970. */
    beganAt: number;
    sequence: number;
    /** Time of the last change, in seconds since 1970; 0 before the first. */
    changedAt: number;
    /** Reason of the last snapshot. */
    reason: Reason;
    /** Number of snapshots so far: a view with a state of its own begins anew with each. */
    snapshots: number;
    /** The id of the last event, with which the stream resumes. */
    last: string;
}

export const EMPTY: State = {
    document: { clusters: {}, details: {} },
    loaded: false,
    epoch: "",
    beganAt: 0,
    sequence: 0,
    changedAt: 0,
    reason: "start",
    snapshots: 0,
    last: "",
};

/** The state after an event. Throws an Error with a message for people if it cannot be read. */
export function receive(state: State, event: ServerEvent): State {
    if (event.event === "snapshot") {
        const snapshot = JSON.parse(event.data) as Snapshot;
        if (snapshot.version !== VERSION) {
            throw new Error(
                `the operator speaks version ${snapshot.version} of the page's protocol, ` +
                    `this page version ${VERSION}: reload it`,
            );
        }
        return {
            document: bare(snapshot.document) as unknown as Document,
            loaded: true,
            epoch: snapshot.epoch,
            beganAt: snapshot.began_at,
            sequence: snapshot.sequence,
            changedAt: state.changedAt,
            reason: snapshot.reason,
            snapshots: state.snapshots + 1,
            last: event.id,
        };
    }
    if (event.event === "change" && state.loaded) {
        const change = JSON.parse(event.data) as Change;
        const document = merge(state.document as unknown as Json, change.patch);
        return {
            ...state,
            document: document as unknown as Document,
            sequence: change.sequence,
            changedAt: change.at,
            last: event.id,
        };
    }
    return state;
}
