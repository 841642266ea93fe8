// The open cluster's figures and conditions.

import { count, short, span } from "../model/figures.ts";
import { verdict } from "../model/health.ts";
import type { Page } from "../model/page.ts";
import { milestones } from "../model/run.ts";
import { Figures } from "../parts/figures.tsx";
import { Scroll } from "../parts/scroll.tsx";
import { kinds } from "./clusters.tsx";
import type { View } from "./view.ts";

function Overview({ page }: { page: Page }) {
    const summary = page.open?.summary;
    if (summary === undefined) {
        return null;
    }
    const { nodes, overlay } = summary;
    const timings = milestones(summary.timings);
    return (
        <section data-view="overview" aria-label="Overview">
            <h2>Nodes</h2>
            <Figures
                figures={[
                    { label: "Wanted", value: count(nodes.wanted) },
                    { label: "Exist", value: count(nodes.exist) },
                    { label: "Ready", value: count(nodes.ready) },
                    { label: "Joined", value: count(nodes.joined) },
                    { label: "Configured", value: count(nodes.configured) },
                ]}
            />
            {overlay === undefined ? null : (
                <>
                    <h2>Overlay</h2>
                    <Figures
                        figures={[
                            { label: "Kind", value: kinds(overlay.kind, overlay.previous) },
                            { label: "Components", value: count(overlay.components) },
                            { label: "Isolated nodes", value: count(overlay.isolated) },
                            { label: "Links", value: count(overlay.links) },
                            { label: "Mean degree", value: short(overlay.mean_degree) },
                        ]}
                    />
                </>
            )}
            <h2>Conditions</h2>
            <Scroll label="Table of conditions">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">Condition</th>
                            <th scope="col">Status</th>
                            <th scope="col">Reason</th>
                            <th scope="col">Cause and remedy</th>
                            <th scope="col">Since</th>
                        </tr>
                    </thead>
                    <tbody>
                        {Object.entries(summary.conditions).map(([type, condition]) => (
                            <tr key={type}>
                                <th scope="row">{type}</th>
                                <td>
                                    <span class={`phase ${verdict(type, condition)}`}>
                                        {condition.status}
                                    </span>
                                </td>
                                <td>{condition.reason}</td>
                                <td class="wide">{condition.message}</td>
                                <td>
                                    <time dateTime={condition.since}>{condition.since}</time>
                                </td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </Scroll>
            {timings.length === 0 ? null : (
                <>
                    <h2>Times</h2>
                    <Figures
                        figures={timings.map(([name, seconds]) => ({
                            label: name,
                            value: span(seconds),
                        }))}
                    />
                </>
            )}
        </section>
    );
}

export const overview: View = {
    id: "overview",
    title: "Overview",
    shown: page => page.open !== undefined,
    View: Overview,
};
