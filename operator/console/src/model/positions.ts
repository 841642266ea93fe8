// Where nodes are drawn, by rule. The same graph gives the same picture.

import type { ClusterNode } from "./document.ts";
import { byName, degrees, ends } from "./graph.ts";

export interface Point {
    x: number;
    y: number;
}

export type Positions = Map<string, Point>;

const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

/** Sunflower: a disc of even density, in order from its centre; neighbours are 1 apart. */
export function disc(names: readonly string[], centre: Point = { x: 0, y: 0 }): Positions {
    return new Map(
        names.map((name, index) => {
            const radius = 0.6 * Math.sqrt(index + 0.5);
            const angle = index * GOLDEN_ANGLE;
            return [
                name,
                {
                    x: centre.x + radius * Math.cos(angle),
                    y: centre.y + radius * Math.sin(angle),
                },
            ];
        }),
    );
}

/** One circle, in order, clockwise from the top. */
export function circle(names: readonly string[], radius = names.length / (2 * Math.PI)): Positions {
    return new Map(
        names.map((name, index) => {
            const angle = (2 * Math.PI * index) / names.length;
            return [name, { x: radius * Math.sin(angle), y: radius * Math.cos(angle) }];
        }),
    );
}

/** A disc for each zone, apart from each other. Nodes without a zone have one together. */
export function zones(nodes: Record<string, ClusterNode>): { at: Positions; labels: Positions } {
    const groups = new Map<string, string[]>();
    for (const name of Object.keys(nodes).sort(byName)) {
        const zone = nodes[name]?.zone ?? "no zone";
        groups.set(zone, [...(groups.get(zone) ?? []), name]);
    }
    const names = [...groups.keys()].sort();
    const widest = Math.max(...[...groups.values()].map(group => 0.6 * Math.sqrt(group.length)));
    // Discs touch at half this distance; a third of a disc's width stays free between two.
    const apart = names.length < 2 ? 0 : (widest * 1.4) / Math.sin(Math.PI / names.length);
    const centres = circle(names, apart);
    const at: Positions = new Map();
    for (const [zone, group] of groups) {
        for (const [name, point] of disc(group, centres.get(zone))) {
            at.set(name, point);
        }
    }
    const labels: Positions = new Map();
    for (const [zone, { x, y }] of centres) {
        labels.set(zone, { x, y: y + widest * 1.15 });
    }
    return { at, labels };
}

/**
 * The nodes that all links lead to, most links first: servers of a client-server overlay, brokers.
 *
 * Greedy: with servers that clients alone link to, these are exactly the servers.
 */
export function hubs(links: Record<string, unknown>): string[] {
    const degree = degrees(links);
    const open = new Set(Object.keys(links));
    const found: string[] = [];
    const byDegree = [...degree].sort(([a, x], [b, y]) => y - x || byName(a, b));
    for (const [name] of byDegree) {
        const own = [...open].filter(link => ends(link).includes(name));
        if (own.length > 0) {
            found.push(name);
            for (const link of own) {
                open.delete(link);
            }
        }
        if (open.size === 0) {
            break;
        }
    }
    return found.sort(byName);
}

/** Hubs on an inner circle, the others on outer ones, each near its first hub. */
export function aroundHubs(
    nodes: Record<string, ClusterNode>,
    links: Record<string, unknown>,
): Positions {
    const inner = hubs(links).filter(name => name in nodes);
    const rank = new Map(inner.map((name, index) => [name, index]));
    const first = new Map<string, number>();
    for (const link of Object.keys(links)) {
        const [left, right] = ends(link);
        for (const [name, hub] of [
            [left, right],
            [right, left],
        ] as const) {
            const place = rank.get(hub);
            if (place !== undefined && !rank.has(name)) {
                first.set(name, Math.min(place, first.get(name) ?? place));
            }
        }
    }
    const outer = Object.keys(nodes)
        .filter(name => !rank.has(name))
        .sort((a, b) => (first.get(a) ?? -1) - (first.get(b) ?? -1) || byName(a, b));
    const rings = Math.max(1, Math.ceil(outer.length / 128));
    const radius = Math.max(3, outer.length / rings / (2 * Math.PI));
    const at = circle(inner, inner.length < 2 ? 0 : radius / 3);
    for (const [index, [name, point]] of [...circle(outer, 1)].entries()) {
        const distance = radius * (1 + 0.12 * (index % rings));
        at.set(name, { x: point.x * distance, y: point.y * distance });
    }
    return at;
}

/**
 * A place for a new node: among its neighbours, a little aside by a rule of its name; without
 * neighbours on a circle around all others, whose radius is given.
 */
export function among(name: string, neighbours: readonly Point[], radius: number): Point {
    let hash = 0;
    for (const letter of name) {
        hash = (hash * 31 + letter.charCodeAt(0)) % 1009;
    }
    const angle = (2 * Math.PI * hash) / 1009;
    const count = Math.max(1, neighbours.length);
    const distance = radius * (neighbours.length > 0 ? 0.06 : 1.12);
    return {
        x: neighbours.reduce((sum, { x }) => sum + x / count, distance * Math.cos(angle)),
        y: neighbours.reduce((sum, { y }) => sum + y / count, distance * Math.sin(angle)),
    };
}
