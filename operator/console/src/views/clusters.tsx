// All clusters that the viewer may read.

import type { Summary } from "../model/document.ts";
import { count, rate } from "../model/figures.ts";
import { attention, mood } from "../model/health.ts";
import type { Page } from "../model/page.ts";
import { fragment } from "../model/route.ts";
import { same } from "../parts/same.ts";
import { Scroll } from "../parts/scroll.tsx";
import type { View } from "./view.ts";

function Clusters({ page }: { page: Page }) {
    const { clusters } = page.state.document;
    const keys = Object.keys(clusters).sort();
    const where = page.route.namespace ? `in namespace ${page.route.namespace}` : "";
    return (
        <section data-view="clusters" aria-labelledby="clusters-title">
            <h1 id="clusters-title">
                Clusters <span class="note">{where}</span>
            </h1>
            {page.state.loaded && keys.length === 0 ? (
                <p class="empty">There is no cluster that you may read {where}.</p>
            ) : (
                <Scroll label="Table of clusters">
                    <table>
                        <thead>
                            <tr>
                                <th scope="col">Cluster</th>
                                <th scope="col">Phase</th>
                                <th scope="col" class="number">
                                    Joined
                                </th>
                                <th scope="col">Overlay</th>
                                <th scope="col" class="number">
                                    Messages
                                </th>
                                <th scope="col">Conditions</th>
                            </tr>
                        </thead>
                        <tbody>
                            {keys.map(key => (
                                <Row key={key} name={key} summary={clusters[key] as Summary} />
                            ))}
                        </tbody>
                    </table>
                </Scroll>
            )}
        </section>
    );
}

const Row = same(({ name, summary }: { name: string; summary: Summary }) => {
    const [namespace = "", cluster = ""] = name.split("/");
    const { nodes, overlay } = summary;
    const channels = Object.values(summary.channels);
    const messages = channels.reduce((sum, each) => sum + (each.messages_per_second ?? 0), 0);
    return (
        <tr>
            <th scope="row">
                <a href={fragment(namespace, cluster)}>{cluster}</a>{" "}
                <span class="note">{namespace}</span>
            </th>
            <td>
                <Phase summary={summary} />
            </td>
            <td class="number">
                {count(nodes.joined)} <span class="note">of {count(nodes.wanted)}</span>
            </td>
            <td>{overlay === undefined ? "" : kinds(overlay.kind, overlay.previous)}</td>
            <td class="number">{channels.length > 0 ? rate(messages) : ""}</td>
            <td class="wide">
                {attention(summary).map(([type, { reason, message }]) => (
                    <p key={type}>
                        <strong>{reason}</strong> {message}
                    </p>
                ))}
            </td>
        </tr>
    );
});

export function Phase({ summary }: { summary: Summary }) {
    return <span class={`phase ${mood(summary)}`}>{summary.phase}</span>;
}

/** The overlay's kind, and the one that it replaces. */
export function kinds(kind: string, previous: string | undefined): string {
    return previous === undefined ? kind : `${previous} → ${kind}`;
}

export const clusters: View = {
    id: "clusters",
    title: "Clusters",
    shown: page => !page.route.name,
    View: Clusters,
};
