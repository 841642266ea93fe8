// The open cluster's Events, newest first.

import { useState } from "preact/hooks";
import type { ClusterEvent } from "../model/document.ts";
import { matching, newestFirst, TYPES } from "../model/events.ts";
import { clock, iso } from "../model/figures.ts";
import type { Page } from "../model/page.ts";
import { Filter } from "../parts/filter.tsx";
import { same } from "../parts/same.ts";
import { Scroll } from "../parts/scroll.tsx";
import type { View } from "./view.ts";

function Events({ page }: { page: Page }) {
    const [type, setType] = useState("");
    const [text, setText] = useState("");
    const events = newestFirst(page.open?.details?.events ?? {});
    const found = matching(events, type, text);
    const newest = found[0]?.[1];
    return (
        <section data-view="events" aria-label="Events">
            <Filter
                text={text}
                hint="reason or message"
                onText={setText}
                found={found.length}
                all={events.length}
                what="Events"
                news={newest === undefined ? "" : `, newest: ${newest.reason} ${newest.message}`}
            >
                <label>
                    Type{" "}
                    <select value={type} onChange={event => setType(event.currentTarget.value)}>
                        {TYPES.map(name => (
                            <option key={name} value={name}>
                                {name || "All"}
                            </option>
                        ))}
                    </select>
                </label>
            </Filter>
            <Scroll label="Table of Events">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">Time</th>
                            <th scope="col">Type</th>
                            <th scope="col">Reason</th>
                            <th scope="col">Message</th>
                        </tr>
                    </thead>
                    <tbody>
                        {found.map(([number, event]) => (
                            <Row key={number} event={event} />
                        ))}
                    </tbody>
                </table>
            </Scroll>
            {events.length > 0 ? null : (
                <p class="note">
                    No Events since the current operator began to lead. `kubectl describe` shows
                    earlier ones.
                </p>
            )}
        </section>
    );
}

const Row = same(({ event }: { event: ClusterEvent }) => (
    <tr>
        <td>
            <time dateTime={iso(event.at)}>{clock(event.at)}</time>
        </td>
        <td>
            <span class={`phase ${event.type === "Warning" ? "wait" : ""}`}>{event.type}</span>
        </td>
        <th scope="row">{event.reason}</th>
        <td class="wide">{event.message}</td>
    </tr>
));

export const events: View = {
    id: "events",
    title: "Events",
    shown: page => page.open?.details !== undefined,
    View: Events,
};
