import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, clock, count, iso, rate, span } from "../src/model/figures.ts";
import { byName, degrees } from "../src/model/graph.ts";
import { fragment, parse, query } from "../src/model/route.ts";

test("figures have three digits, and unknown ones a dash", () => {
    assert.equal(bytes(999), "999 B");
    assert.equal(bytes(999_700), "1 MB");
    assert.equal(bytes(1_234_567), "1.23 MB");
    assert.equal(rate(1234, "B"), "1.23 kB/s");
    assert.equal(rate(12), "12 /s");
    assert.equal(count(1_234_567), "1,234,567");
    assert.equal(count(undefined), "–");
    assert.equal(bytes(Number.NaN), "–");
    assert.equal(clock(1e15), "–");
    assert.equal(iso(1e15), undefined);
    assert.equal(iso(0), "1970-01-01T00:00:00.000Z");
    assert.equal(span(125), "2 min 5 s");
    assert.equal(span(3600 * 50), "2 d 2 h");
});

test("a fragment is read as it is written", () => {
    assert.deepEqual(parse("#ns/ads/nodes"), { namespace: "ns", name: "ads", view: "nodes" });
    assert.deepEqual(parse(""), { namespace: "", name: "", view: "" });
    assert.equal(fragment("ns", "ads"), "#ns/ads");
    assert.equal(fragment(), "#");
    assert.equal(fragment("a/b<", "%"), "#a%2Fb%3C/%25");
    assert.deepEqual(parse("#a%2Fb%3C/%25/%E0"), { namespace: "a/b<", name: "%", view: "%E0" });
    assert.equal(query(parse("#ns/ads/nodes")), "?namespace=ns&cluster=ads");
    assert.equal(query(parse("#ns")), "?namespace=ns");
    assert.equal(query(parse("")), "");
});

test("nodes are ordered by their numbers, and links counted at both ends", () => {
    assert.deepEqual(["b-1", "a-10", "a-2", "a"].sort(byName), ["a", "a-2", "a-10", "b-1"]);
    assert.deepEqual(
        [...degrees({ "a b": {}, "b c": {} })],
        [
            ["a", 1],
            ["b", 2],
            ["c", 1],
        ],
    );
});
