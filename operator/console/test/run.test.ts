import assert from "node:assert/strict";
import { test } from "node:test";
import type { Run, Summary } from "../src/model/document.ts";
import { between, milestones, progress, publishedBytes } from "../src/model/run.ts";

function summary(nodes: number, kind: string, change: Partial<Run> = {}): Summary {
    return {
        phase: "Running",
        paused: false,
        nodes: { wanted: nodes },
        conditions: {},
        channels: {},
        overlay: { kind },
        run: {
            id: "r",
            module: "adcounter",
            phase: "Running",
            threshold: 180 * nodes,
            ads: 1,
            synchronization: "Delta",
            increment_seconds: 10,
            propagation_seconds: 5,
            ...change,
        },
    };
}

test("a run that repeats a published one has its bytes", () => {
    assert.equal(publishedBytes(summary(1024, "HyParView")), 16 * 1024 ** 3);
    const compressed = { increment_seconds: 1, propagation_seconds: 0.5 };
    assert.equal(publishedBytes(summary(1024, "HyParView", compressed)), 16 * 1024 ** 3);
});

test("any other run has none", () => {
    const others = [
        summary(33, "HyParView"),
        summary(32, "ClientServer"),
        summary(32, "constructor"),
        summary(32, "HyParView", { threshold: 32 }),
        summary(32, "HyParView", { ads: 2 }),
        summary(32, "HyParView", { synchronization: "Tree" }),
        summary(32, "HyParView", { propagation_seconds: 10 }),
        { ...summary(32, "HyParView"), overlay: { kind: "HyParView", previous: "ClientServer" } },
    ];
    for (const other of others) {
        assert.equal(publishedBytes(other), undefined);
    }
});

test("progress needs a threshold, and a span both of its ends", () => {
    assert.equal(progress({ value: 3, threshold: 4 } as Run), 0.75);
    assert.equal(progress({ value: 9, threshold: 4 } as Run), 1);
    assert.equal(progress({ value: 9, threshold: 0 } as Run), undefined);
    const timings = { appliedAt: "2026-01-01T00:00:00Z", readyAt: "2026-01-01T00:01:00Z" };
    assert.equal(between(timings, "appliedAt", "readyAt"), 60);
    assert.equal(between(timings, "readyAt", "appliedAt"), undefined);
    assert.deepEqual(milestones(timings), [["Applied to ready", 60]]);
    assert.deepEqual(milestones(undefined), []);
});
