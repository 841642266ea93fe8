// Which conditions of a cluster need attention.

import type { Condition, Summary } from "./document.ts";

/** Conditions that are good when they are not True. */
const BAD_WHEN_TRUE = ["Degraded", "Paused", "Development"];

/** Conditions that are neither good nor bad. */
const NEUTRAL = ["Progressing", "WorkloadConverged"];

export type Verdict = "good" | "bad" | "wait" | "neutral";

export function verdict(type: string, condition: Condition): Verdict {
    if (NEUTRAL.includes(type)) {
        return "neutral";
    }
    if (BAD_WHEN_TRUE.includes(type)) {
        return condition.status === "True" ? "bad" : "good";
    }
    return condition.status === "True" ? "good" : "wait";
}

/** Conditions with a remedy to act on, the worst first. */
export function attention(summary: Summary): [string, Condition][] {
    const rank = { bad: 0, wait: 1, good: 2, neutral: 2 };
    return Object.entries(summary.conditions)
        .filter(([type, condition]) => rank[verdict(type, condition)] < 2)
        .sort(([a, x], [b, y]) => rank[verdict(a, x)] - rank[verdict(b, y)] || compare(a, b));
}

function compare(left: string, right: string): number {
    return left < right ? -1 : left > right ? 1 : 0;
}

/** How the phase is coloured. */
export function mood(summary: Summary): Verdict {
    if (summary.phase === "Degraded") {
        return "bad";
    }
    return ["Ready", "Running", "Converged"].includes(summary.phase) ? "good" : "wait";
}
