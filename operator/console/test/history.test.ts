import assert from "node:assert/strict";
import { test } from "node:test";
import { Replay, readHistory } from "../src/stream/history.ts";

function lines(changes: number): string {
    const document = { clusters: { "default/ads": { phase: "0" } }, details: {} };
    const head = { document, version: 1, epoch: "e", began_at: 7, sequence: 0, reason: "start" };
    const rest = Array.from({ length: changes }, (_, index) => ({
        sequence: index + 1,
        at: index,
        patch: { clusters: { "default/ads": { phase: String(index + 1) } } },
    }));
    return [head, ...rest].map(line => `${JSON.stringify(line)}\n`).join("");
}

test("a history gives every document, in any order", async () => {
    const history = await readHistory(lines(500));
    assert.deepEqual([history.epoch, history.beganAt, history.changes.length], ["e", 7, 500]);
    const replay = new Replay(history);
    for (const number of [0, 499, 64, 63, 65, 500, 1, 130]) {
        assert.equal(replay.at(number).clusters["default/ads"]?.phase, String(number));
    }
});

test("a history of another version is an error", async () => {
    const text = lines(1).replace('"version":1', '"version":9');
    await assert.rejects(readHistory(text), /another version/);
});
