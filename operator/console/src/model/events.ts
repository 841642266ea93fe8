// A cluster's Events in order, and those that a filter selects.

import type { ClusterEvent } from "./document.ts";
import { selects } from "./filter.ts";

/** What the filter offers; the empty one selects all types. */
export const TYPES = ["", "Normal", "Warning"] as const;

export type Numbered = [number: number, event: ClusterEvent];

/** The events by number, newest first. */
export function newestFirst(events: Record<string, ClusterEvent>): Numbered[] {
    return Object.keys(events)
        .map((number): Numbered => [Number(number), events[number] as ClusterEvent])
        .sort(([left], [right]) => right - left);
}

/** Those of a type, or of any, whose reason or message contains a text, whatever its case. */
export function matching(events: Numbered[], type: string, text: string): Numbered[] {
    return events.filter(
        ([, event]) =>
            (type === "" || event.type === type) &&
            selects(text, [`${event.reason} ${event.message}`]),
    );
}
