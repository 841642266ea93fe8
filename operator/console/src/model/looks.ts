// How nodes and links look: by state, by channel and by rate. Shapes differ as well as colours.

import type { Link, NodeState } from "./document.ts";

export type Shape = "circle" | "square" | "triangle" | "diamond";

export interface NodeLook {
    shape: Shape;
    /** Name of the colour in the style sheet. */
    colour: string;
    meaning: string;
}

/** In the order of the legend. */
export const STATES: Record<NodeState, NodeLook> = {
    joined: { shape: "circle", colour: "--node-joined", meaning: "part of the overlay" },
    joining: { shape: "triangle", colour: "--node-joining", meaning: "answers, has not joined" },
    unready: {
        shape: "diamond",
        colour: "--node-joining",
        meaning: "joined, its pod is not ready",
    },
    silent: { shape: "square", colour: "--node-silent", meaning: "ready, but does not answer" },
    starting: { shape: "triangle", colour: "--node-absent", meaning: "its pod is not ready yet" },
    leaving: { shape: "diamond", colour: "--node-absent", meaning: "beyond the wanted number" },
    absent: { shape: "square", colour: "--node-absent", meaning: "has no pod with an address" },
};

export function lookOf(state: string): NodeLook {
    return Object.hasOwn(STATES, state) ? STATES[state as NodeState] : STATES.absent;
}

/** Colours for channels, in the order of their names. */
export const SERIES = 6;

export function seriesColour(index: number): string {
    return `--series-${(index % SERIES) + 1}`;
}

/** Bytes per second of a link on a channel, or on all of them; undefined if unknown. */
export function rateOf(link: Link, channel: string): number | undefined {
    if (link.channels === undefined) {
        return undefined;
    }
    if (channel !== "") {
        return link.channels[channel]?.bytes_per_second ?? 0;
    }
    // Thousands of links may change at once, before the browser has compiled this.
    let sum = 0;
    for (const name in link.channels) {
        sum += link.channels[name]?.bytes_per_second ?? 0;
    }
    return sum;
}

/** The channel with the highest rate of a link; undefined if nothing is sent. */
export function busiest(link: Link): string | undefined {
    let found: string | undefined;
    let most = 0;
    for (const name in link.channels) {
        const rate = link.channels[name]?.bytes_per_second ?? 0;
        if (rate > most) {
            most = rate;
            found = name;
        }
    }
    return found;
}

/** Width of a link in pixels: logarithmic, from 0.7 for silence to 5 for 10 MB/s. */
export function width(rate: number | undefined): number {
    return rate === undefined ? 1 : Math.min(5, 0.7 + Math.log10(1 + rate) * 0.62);
}

/** Radius of a node in pixels. */
export function radius(nodes: number): number {
    return Math.max(3.5, Math.min(10, 70 / Math.sqrt(nodes)));
}
