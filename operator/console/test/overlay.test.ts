import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterNode } from "../src/model/document.ts";
import { busiest, lookOf, rateOf, STATES, width } from "../src/model/looks.ts";
import {
    among,
    aroundHubs,
    circle,
    disc,
    hubs,
    type Positions,
    zones,
} from "../src/model/positions.ts";

const NAMES = Array.from({ length: 40 }, (_, index) => `ads-${index}`);

function nodes(zone: (index: number) => string | undefined): Record<string, ClusterNode> {
    return Object.fromEntries(
        NAMES.map((name, index) => {
            const where = zone(index);
            return [name, { state: "joined", ...(where === undefined ? {} : { zone: where }) }];
        }),
    );
}

function closest(at: Positions): number {
    const points = [...at.values()];
    return Math.min(
        ...points.flatMap((one, index) =>
            points.slice(index + 1).map(other => Math.hypot(one.x - other.x, one.y - other.y)),
        ),
    );
}

test("no two nodes of a layout are at the same place", () => {
    assert.ok(closest(disc(NAMES)) > 0.5);
    assert.ok(closest(circle(NAMES)) > 0.5);
    assert.ok(closest(zones(nodes(index => `zone-${index % 3}`)).at) > 0.5);
    const links = Object.fromEntries(
        NAMES.slice(3).map((name, index) => [`ads-${index % 3} ${name}`, {}]),
    );
    assert.ok(
        closest(
            aroundHubs(
                nodes(() => undefined),
                links,
            ),
        ) > 0.3,
    );
});

test("zones are apart: a node is nearest to nodes of its own", () => {
    const all = nodes(index => (index % 3 === 0 ? "a" : "b"));
    const { at, labels } = zones(all);
    assert.deepEqual([...labels.keys()], ["a", "b"]);
    const spread = (zone: string) =>
        NAMES.filter(name => all[name]?.zone === zone).map(name => at.get(name)?.y ?? 0);
    assert.ok(Math.min(...spread("a")) > Math.max(...spread("b")));
});

test("nodes without a zone have a place together", () => {
    assert.deepEqual([...zones(nodes(() => undefined)).labels.keys()], ["no zone"]);
});

test("the hubs of a client-server overlay are its servers", () => {
    const clients = NAMES.slice(3).map((name, index) => [`ads-${index % 3} ${name}`, {}]);
    const servers = [
        ["ads-0 ads-1", {}],
        ["ads-0 ads-2", {}],
        ["ads-1 ads-2", {}],
    ];
    const links = Object.fromEntries([...clients, ...servers]);
    assert.deepEqual(hubs(links), ["ads-0", "ads-1", "ads-2"]);
    const at = aroundHubs(
        nodes(() => undefined),
        links,
    );
    const far = (name: string) => Math.hypot(at.get(name)?.x ?? 0, at.get(name)?.y ?? 0);
    assert.ok(Math.max(...NAMES.slice(0, 3).map(far)) < Math.min(...NAMES.slice(3).map(far)));
});

test("a new node is among its neighbours, or around all others without any", () => {
    const place = among(
        "ads-9",
        [
            { x: 10, y: 0 },
            { x: 0, y: 10 },
        ],
        100,
    );
    assert.ok(Math.hypot(place.x - 5, place.y - 5) < 7);
    const alone = among("ads-9", [], 100);
    assert.ok(Math.hypot(alone.x, alone.y) > 100);
    assert.deepEqual(among("ads-9", [], 100), alone);
});

test("states differ by shape and colour together, and unknown ones are drawn", () => {
    const looks = Object.values(STATES).map(({ shape, colour }) => `${shape} ${colour}`);
    assert.equal(new Set(looks).size, looks.length);
    assert.equal(lookOf("constructor"), STATES.absent);
});

test("a link shows the rate of the channel, and its busiest one", () => {
    const link = {
        channels: { gossip: { bytes_per_second: 10 }, sync: { bytes_per_second: 1000 } },
    };
    assert.equal(rateOf(link, ""), 1010);
    assert.equal(rateOf(link, "gossip"), 10);
    assert.equal(rateOf(link, "other"), 0);
    assert.equal(rateOf({}, ""), undefined);
    assert.equal(busiest(link), "sync");
    assert.equal(busiest({ channels: { gossip: {} } }), undefined);
    assert.ok(width(0) < width(1000) && width(1000) < width(1e12));
    assert.equal(width(1e12), 5);
});
