import assert from "node:assert/strict";
import { test } from "node:test";
import type { Details, Summary } from "../src/model/document.ts";
import { Recording } from "../src/model/recording.ts";
import { MAX_LINES, MAX_POINTS, Series } from "../src/model/series.ts";

function summary(change: Partial<Summary>): Summary {
    return { phase: "Running", paused: false, nodes: {}, conditions: {}, channels: {}, ...change };
}

function details(at: number, change: Partial<Details> = {}): Details {
    return { observed_at: at, nodes: {}, links: {}, events: {}, ...change };
}

test("a series has a value or null for each line at each time", () => {
    const series = new Series();
    series.append(1, [["a", 1]]);
    series.append(2, [
        ["b", 2],
        ["a", undefined],
    ]);
    series.append(3, [["a", Number.NaN]]);
    assert.deepEqual(series.times, [1, 2, 3]);
    assert.deepEqual(series.column("a"), [1, null, null]);
    assert.deepEqual(series.column("b"), [null, 2, null]);
    assert.deepEqual(series.column("constructor"), [null, null, null]);
});

test("a series is in order, and a long silence breaks its lines", () => {
    const series = new Series();
    for (const at of [10, 10, 9, 100]) {
        series.append(at, [["a", at]]);
    }
    assert.deepEqual(series.column("a"), [10, null, 100]);
});

test("a series is bounded in points and lines", () => {
    const series = new Series();
    for (let at = 0; at < 10 * MAX_POINTS; at += 1) {
        series.append(at, [[`line ${at % 100}`, at]]);
    }
    assert.ok(series.times.length <= 1.1 * MAX_POINTS);
    assert.equal(series.times.at(-1), 10 * MAX_POINTS - 1);
    assert.equal(series.names.length, MAX_LINES);
    assert.equal(series.column("line 7").length, series.times.length);
});

test("older points go before a series without overlap", () => {
    const [older, newer] = [new Series(), new Series()];
    for (const at of [1, 2, 3, 4]) {
        older.append(at, [["a", at]]);
    }
    newer.append(3, [["b", 30]]);
    const joined = newer.after(older);
    assert.deepEqual(joined.times, [1, 2, 3]);
    assert.deepEqual(
        [joined.column("a"), joined.column("b")],
        [
            [1, 2, null],
            [null, null, 30],
        ],
    );
});

test("drops are a rate, and unknown when the counter begins anew", () => {
    const recording = new Recording();
    const observe = (at: number, dropped: number) =>
        recording.add(summary({ channels: { gossip: { dropped } } }), details(at));
    observe(10, 5);
    observe(12, 9);
    observe(12, 99);
    observe(13, 2);
    assert.deepEqual(recording.traffic.dropped.column("gossip"), [null, 2, null]);
});

test("another run begins another series of values, and earlier values of it come first", () => {
    const observe = (recording: Recording, at: number, id: string, median: number) =>
        recording.add(
            summary({ run: { id, module: "adcounter", phase: "Running", value: median + 1 } }),
            details(at, {
                values: { count: 2, least: 0, lower: 0, median, upper: 9, greatest: 9 },
            }),
        );
    const [live, past] = [new Recording(), new Recording()];
    observe(live, 5, "first", 1);
    observe(live, 6, "second", 2);
    assert.deepEqual(live.values.column("median"), [2]);
    observe(past, 3, "first", 7);
    observe(past, 4, "second", 8);
    live.prepend(past);
    assert.deepEqual(live.values.times, [4, 6]);
    assert.deepEqual(live.values.column("value"), [9, 3]);
});
