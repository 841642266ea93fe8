import assert from "node:assert/strict";
import { test } from "node:test";
import { matching, newestFirst } from "../src/model/events.ts";

const event = (type: string, reason: string) => ({ at: 1, type, reason, message: "ads-1 is back" });
const EVENTS = { "9": event("Normal", "Joined"), "10": event("Warning", "Silent") };

test("events are ordered by number, newest first", () => {
    assert.deepEqual(
        newestFirst(EVENTS).map(([number]) => number),
        [10, 9],
    );
});

test("a filter selects by type and by text of any case", () => {
    const reasons = (type: string, text: string) =>
        matching(newestFirst(EVENTS), type, text).map(([, { reason }]) => reason);
    assert.deepEqual(reasons("", ""), ["Silent", "Joined"]);
    assert.deepEqual(reasons("Warning", ""), ["Silent"]);
    assert.deepEqual(reasons("", " jOIN "), ["Joined"]);
    assert.deepEqual(reasons("", "ADS-1"), ["Silent", "Joined"]);
    assert.deepEqual(reasons("Normal", "silent"), []);
});
