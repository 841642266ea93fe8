// Everything that the page knows of one node.

import type { ClusterNode, Details } from "../../model/document.ts";
import { bytes, clock, count, rate } from "../../model/figures.ts";
import { byName, ends } from "../../model/graph.ts";
import { lookOf, rateOf } from "../../model/looks.ts";

interface AccountProps {
    name: string;
    details: Details;
    select: (node: string) => void;
}

export function Account({ name, details, select }: AccountProps) {
    const node = details.nodes[name];
    const neighbours = neighboursOf(name, details);
    const events = eventsOf(name, details);
    return (
        <aside class="account" aria-labelledby="account-title">
            <div class="bar">
                <h2 id="account-title">{name}</h2>
                <button type="button" onClick={() => select("")}>
                    Close
                </button>
            </div>
            {node === undefined ? (
                <p>This node is not in the cluster at this moment.</p>
            ) : (
                <dl class="fields">
                    {fields(node).map(([label, value]) => (
                        <div key={label}>
                            <dt>{label}</dt>
                            <dd>{value}</dd>
                        </div>
                    ))}
                </dl>
            )}
            <h3>{count(neighbours.length)} neighbours</h3>
            <ul class="plain columns">
                {neighbours.map(([neighbour, sent]) => (
                    <li key={neighbour}>
                        <button type="button" class="link" onClick={() => select(neighbour)}>
                            {neighbour}
                        </button>
                        {sent === undefined ? null : <span class="note"> {rate(sent, "B")}</span>}
                    </li>
                ))}
            </ul>
            {events.length === 0 ? null : (
                <>
                    <h3>Events</h3>
                    <ul class="plain">
                        {events.map(([number, event]) => (
                            <li key={number}>
                                <span class="note">{clock(event.at)}</span>{" "}
                                <strong>{event.reason}</strong> {event.message}
                            </li>
                        ))}
                    </ul>
                </>
            )}
        </aside>
    );
}

function fields(node: ClusterNode): [string, string][] {
    const { state, zone, kind, previous, incarnation, configured, queue_bytes, ...others } = node;
    const known: [string, string | undefined][] = [
        ["State", `${state}: ${lookOf(state).meaning}`],
        ["Zone", zone],
        ["Overlay", previous ? `${previous} → ${kind}` : kind],
        ["Incarnation", incarnation === undefined ? undefined : String(incarnation)],
        ["Configuration", configured === undefined ? undefined : configured ? "current" : "old"],
        ["Queued", queue_bytes === undefined ? undefined : bytes(queue_bytes)],
        // Fields that a newer operator sends.
        ...Object.entries(others)
            .filter(([, value]) => typeof value !== "object")
            .map(([name, value]): [string, string] => [name, String(value)]),
    ];
    return known.filter((each): each is [string, string] => each[1] !== undefined);
}

/** Neighbours in order, with the bytes per second between the two if they are known. */
function neighboursOf(name: string, { links }: Details): [string, number | undefined][] {
    const found: [string, number | undefined][] = [];
    for (const [key, link] of Object.entries(links)) {
        const [left, right] = ends(key);
        if (left === name || right === name) {
            found.push([left === name ? right : left, rateOf(link, "")]);
        }
    }
    return found.sort(([a], [b]) => byName(a, b));
}

/** Events that name the node, newest first. */
function eventsOf(name: string, { events }: Details) {
    const word = new RegExp(`(^|[^\\w-])${name.replace(/[^\w]/g, "\\$&")}(?![\\w-])`);
    return Object.entries(events)
        .filter(([, { message }]) => word.test(message))
        .sort(([a], [b]) => Number(b) - Number(a));
}
