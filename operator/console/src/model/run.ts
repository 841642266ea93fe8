// What a run has reached, and what is published for one of its size.

import type { Run, Summary, Timings } from "./document.ts";
import published from "./published.json" with { type: "json" };

const GIB = 1024 ** 3;

/** Increments of each node in the published runs. */
const INCREMENTS = 180;

/**
 * Payload in GiB by overlay and synchronization, then by number of nodes: C. Meiklejohn et al.,
 * Practical Evaluation of the Lasp Programming Model at Large Scale, PPDP 2017, read off its figure.
 */
const PUBLISHED: Record<string, Record<string, number>> = published;

/** Bytes that are published for a run like this one; undefined for any other run. */
export function publishedBytes({ overlay, nodes, run }: Summary): number | undefined {
    const size = nodes.wanted ?? 0;
    if (run === undefined || overlay === undefined || overlay.previous !== undefined) {
        return undefined;
    }
    const { ads, threshold, increment_seconds: every, propagation_seconds: exchange } = run;
    const isRepeated =
        ads === 1 && threshold === INCREMENTS * size && every === 2 * (exchange ?? 0);
    const name = `${overlay.kind} ${run.synchronization}`;
    const sizes = Object.hasOwn(PUBLISHED, name) ? PUBLISHED[name] : undefined;
    const gib = sizes?.[size];
    return isRepeated && gib !== undefined ? gib * GIB : undefined;
}

/** Part of the threshold that is reached, from 0 to 1; undefined without a threshold. */
export function progress({ value, threshold }: Run): number | undefined {
    return threshold ? Math.min(1, (value ?? 0) / threshold) : undefined;
}

/** Seconds between two milestones; undefined unless both are reached, in this order. */
export function between(
    timings: Timings | undefined,
    from: keyof Timings,
    to: keyof Timings,
): number | undefined {
    const seconds = (Date.parse(timings?.[to] ?? "") - Date.parse(timings?.[from] ?? "")) / 1000;
    return seconds >= 0 ? seconds : undefined;
}

/** What took how many seconds, of the milestones that are reached. */
export function milestones(timings: Timings | undefined): [what: string, seconds: number][] {
    const all: [string, keyof Timings, keyof Timings][] = [
        ["Applied to ready", "appliedAt", "readyAt"],
        ["Applied to joined", "appliedAt", "joinedAt"],
        ["Joined to started", "joinedAt", "startedAt"],
        ["Started to converged", "startedAt", "convergedAt"],
    ];
    return all.flatMap(([what, from, to]): [string, number][] => {
        const seconds = between(timings, from, to);
        return seconds === undefined ? [] : [[what, seconds]];
    });
}
