// What shapes and colours mean, with the number of nodes in each state.

import type { ComponentChild } from "preact";
import type { Details } from "../../model/document.ts";
import { count } from "../../model/figures.ts";
import { type Shape, STATES, seriesColour } from "../../model/looks.ts";

interface LegendProps {
    details: Details;
    /** In the order of their colours. */
    channels: readonly string[];
}

export function Legend({ details, channels }: LegendProps) {
    const counts = new Map<string, number>();
    for (const { state } of Object.values(details.nodes)) {
        counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    return (
        <div class="legend">
            <ul class="plain" aria-label="States of nodes">
                {Object.entries(STATES)
                    .filter(([state]) => counts.has(state))
                    .map(([state, { shape, colour, meaning }]) => (
                        <li key={state} title={meaning}>
                            <svg viewBox="0 0 12 12" aria-hidden="true" fill={`var(${colour})`}>
                                {SHAPES[shape]}
                            </svg>{" "}
                            {count(counts.get(state))} {state}
                        </li>
                    ))}
            </ul>
            {channels.length === 0 ? null : (
                <ul class="plain" aria-label="Channels of links">
                    {channels.map((channel, index) => (
                        <li key={channel}>
                            <svg
                                viewBox="0 0 12 12"
                                aria-hidden="true"
                                fill={`var(${seriesColour(index)})`}
                            >
                                <rect y="4.5" width="12" height="3" />
                            </svg>{" "}
                            {channel}
                        </li>
                    ))}
                    <li class="note">
                        A link has the colour of its busiest channel; wider is more.
                    </li>
                </ul>
            )}
        </div>
    );
}

const SHAPES: Record<Shape, ComponentChild> = {
    circle: <circle cx="6" cy="6" r="5" />,
    square: <rect x="1.5" y="1.5" width="9" height="9" />,
    triangle: <path d="M6 1 11 11H1Z" />,
    diamond: <path d="M6 0 12 6 6 12 0 6Z" />,
};
