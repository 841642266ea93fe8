import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readExecution } from "../src/model/execution.ts";
import { label, rows, sentence, tone, uptimes } from "../src/model/spacetime.ts";

// Written by `partisan_verify draw`; verify_document_tests makes the same.
const FILE = readFileSync("test/three_phase_commit-382f.execution.json", "utf8");

function made(change: Record<string, unknown>): string {
    return JSON.stringify({ ...JSON.parse(FILE), ...change });
}

function message(from: string, to: string, at: number, fate = "deliver") {
    return {
        kind: "message",
        from,
        to,
        at,
        sent: at - 1,
        type: "m",
        occurrence: 1,
        fate,
        text: "",
    };
}

test("an execution of partisan_verify is read", () => {
    const execution = readExecution(FILE);
    assert.equal(execution.violated, "aborted, but committed at n2");
    assert.deepEqual(execution.nodes, ["n1", "n2", "n3", "n4"]);
    const faults = execution.events.filter(event => tone(event) === "fault").map(label);
    assert.deepEqual(faults, ["precommit dropped", "abort dropped"]);
});

test("messages leave from the last event of their sender at that time, in their order", () => {
    const found = rows(readExecution(FILE));
    const sent = found.flatMap(({ event, origin, order }) =>
        event.kind === "message" && event.type === "prepare" ? [[origin, order]] : [],
    );
    assert.deepEqual(sent, [
        [0, 0],
        [0, 1],
        [0, 2],
    ]);
    for (const [row, { origin }] of found.entries()) {
        assert.ok(origin < row);
    }
});

test("a dropped message is no event of its receiver", () => {
    const events = [
        { kind: "call", node: "n1", at: 0, text: "x" },
        message("n1", "n2", 1),
        message("n1", "n2", 1, "drop"),
        message("n2", "n1", 2),
    ];
    const found = rows(readExecution(made({ events })));
    assert.deepEqual(
        found.map(({ origin }) => origin),
        [-1, 0, 0, 1],
    );
});

test("a line has gaps where its node is down", () => {
    const events = [
        message("n1", "n2", 1),
        { kind: "crash", node: "n2", at: 2, text: "before its event 2" },
        { kind: "restart", node: "n2", at: 9, text: "" },
        { kind: "crash", node: "n1", at: 10, text: "" },
    ];
    const execution = readExecution(made({ nodes: ["n1", "n2"], events }));
    assert.deepEqual(uptimes(execution), [
        { node: "n1", from: -1, to: 3 },
        { node: "n2", from: -1, to: 1 },
        { node: "n2", from: 2, to: 4 },
    ]);
    assert.equal(sentence(execution.events[1] as never), "n2  crashes before its event 2");
});

test("a file that is wrong is refused by the field that is wrong", () => {
    const event = message("n1", "n2", 1);
    const wrong: [string, RegExp][] = [
        ["", /not JSON/],
        ['{"format": "partisan-exec', /truncated/],
        ["[]", /the file: not an object/],
        ["{}", /`format`/],
        ["%% -*- coding: utf-8 -*-\n#{format => 1}.", /partisan_verify draw/],
        [made({ version: 2 }), /version: the file has 2, this page reads 1/],
        [made({ nodes: [] }), /nodes: names are needed/],
        [made({ nodes: ["n1", "n1"] }), /each once/],
        [made({ nodes: [1] }), /nodes\[0\]: not a text, but 1/],
        [made({ violated: null }), /violated: not a text, but null/],
        [made({ events: {} }), /events: not a list/],
        [made({ events: new Array(20_001).fill(event) }), /20001 entries/],
        [made({ events: [event, { ...event, fate: "explode" }] }), /events\[1\]\.fate: "explode"/],
        [made({ events: [{ ...event, from: "__proto__" }] }), /events\[0\]\.from: .* not in nodes/],
        [made({ events: [{ ...event, at: -1 }] }), /events\[0\]\.at: not a whole number/],
        [made({ events: [{ kind: "constructor", at: 1, text: "" }] }), /events\[0\]\.kind/],
    ];
    for (const [text, expected] of wrong) {
        assert.throws(() => readExecution(text), expected);
    }
});
