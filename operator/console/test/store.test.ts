import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser } from "../src/stream/sse.ts";
import { EMPTY, receive } from "../src/stream/store.ts";

const SNAPSHOT = {
    document: { clusters: { "default/ads": { phase: "Forming" } }, details: {} },
    version: 1,
    epoch: "e",
    began_at: 5,
    sequence: 3,
    reason: "start",
};

function frame(event: string, id: string, data: unknown): string {
    return `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}

test("events are read from pieces cut anywhere, and comments are ignored", () => {
    const text = `: silence\n\n${frame("snapshot", "e-1-x", { a: "ä" })}${frame("change", "e-2-x", 1)}`;
    for (let size = 1; size < text.length; size += 7) {
        const parser = new EventParser();
        const found = [];
        for (let at = 0; at < text.length; at += size) {
            found.push(...parser.push(text.slice(at, at + size)));
        }
        assert.deepEqual(
            found.map(({ event, id }) => [event, id]),
            [
                ["snapshot", "e-1-x"],
                ["change", "e-2-x"],
            ],
        );
        assert.deepEqual(JSON.parse(found[0]?.data ?? ""), { a: "ä" });
    }
});

test("a snapshot replaces the document, and changes continue it", () => {
    const data = (value: unknown) => JSON.stringify(value);
    let state = receive(EMPTY, { event: "change", id: "", data: data({ patch: { a: 1 } }) });
    assert.equal(state, EMPTY);
    state = receive(state, { event: "snapshot", id: "e-3-x", data: data(SNAPSHOT) });
    const change = {
        sequence: 4,
        at: 9,
        patch: { clusters: { "default/ads": { phase: "Ready" }, "default/b": { phase: "Ready" } } },
    };
    state = receive(state, { event: "change", id: "e-4-x", data: data(change) });
    assert.equal(state.document.clusters["default/ads"]?.phase, "Ready");
    assert.deepEqual([state.last, state.changedAt, state.beganAt], ["e-4-x", 9, 5]);
    state = receive(state, {
        event: "snapshot",
        id: "f-1-x",
        data: data({ ...SNAPSHOT, reason: "leader" }),
    });
    assert.deepEqual([state.reason, state.snapshots], ["leader", 2]);
});

test("a protocol of another version is an error with a remedy", () => {
    const event = { event: "snapshot", id: "", data: JSON.stringify({ ...SNAPSHOT, version: 2 }) };
    assert.throws(() => receive(EMPTY, event), /version 2 .* reload/);
});
