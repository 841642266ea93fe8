import assert from "node:assert/strict";
import { test } from "node:test";
import { bare, type JsonObject, merge } from "../src/stream/merge.ts";

const read = (text: string) => bare(JSON.parse(text));
const plain = (value: unknown) => JSON.parse(JSON.stringify(value));

test("a patch adds, replaces and removes, as RFC 7386 describes", () => {
    const document = read('{"a": 1, "b": {"c": 2, "d": 3}, "e": [1]}');
    const patch = JSON.parse('{"a": null, "b": {"d": 4}, "e": [2], "f": {"g": null, "h": 1}}');
    const after = merge(document, patch);
    assert.deepEqual(plain(after), { b: { c: 2, d: 4 }, e: [2], f: { h: 1 } });
    assert.deepEqual(plain(document), { a: 1, b: { c: 2, d: 3 }, e: [1] });
});

test("what a patch does not mention stays the same object", () => {
    const document = read('{"a": {"b": 1}, "c": {"d": 1}}') as JsonObject;
    const after = merge(document, { c: { d: 2 } }) as JsonObject;
    assert.equal(after.a, document.a);
    assert.notEqual(after.c, document.c);
});

test("names such as __proto__ and constructor are names", () => {
    const document = read('{"nodes": {"__proto__": {"state": "joined"}}}');
    const patch = JSON.parse('{"nodes": {"__proto__": {"polluted": 1}, "constructor": {"x": 1}}}');
    const { nodes } = merge(document, patch) as { nodes: Record<string, unknown> };
    assert.deepEqual(Object.entries(nodes).map(plain), [
        ["__proto__", { state: "joined", polluted: 1 }],
        ["constructor", { x: 1 }],
    ]);
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
    assert.equal((read("{}") as JsonObject).constructor, undefined);
});
