// The open cluster's traffic by channel, over time and now.

import { bytes, count, rate, span } from "../model/figures.ts";
import { seriesColour } from "../model/looks.ts";
import type { Page } from "../model/page.ts";
import type { Metric } from "../model/recording.ts";
import { Chart } from "../parts/chart.tsx";
import { usePast } from "../parts/past.ts";
import { Scroll } from "../parts/scroll.tsx";
import { record, recordingOf } from "../stream/recorder.ts";
import type { View } from "./view.ts";

const CHARTS: [Metric, string, string][] = [
    ["messages", "Messages per second", ""],
    ["bytes", "Bytes per second", "B"],
    ["queued", "Bytes in queues", "B"],
    ["dropped", "Messages dropped per second", ""],
];

/** Lines of one chart; the table has the other channels. */
const MAX_LINES = 12;

function Traffic({ page }: { page: Page }) {
    const problem = usePast(page);
    const channels = page.open?.summary.channels ?? {};
    const names = Object.keys(channels).sort();
    const recording = recordingOf(page);
    const lines = names.slice(0, MAX_LINES).map((name, at) => ({ name, colour: seriesColour(at) }));
    const dropping = lines.filter(({ name }) => (channels[name]?.dropped ?? 0) > 0);
    const { times } = recording.traffic.messages;
    return (
        <section data-view="traffic" aria-label="Traffic">
            <p class="note" aria-live="polite">
                {problem || `All nodes together, ${span(Math.round(lengthOf(times)))}`}
            </p>
            <div class="charts">
                {CHARTS.map(([metric, title, unit]) => {
                    const drawn = metric === "dropped" ? dropping : lines;
                    const series = recording.traffic[metric];
                    return drawn.length === 0 ? null : (
                        <Chart
                            key={metric}
                            title={title}
                            unit={unit}
                            lines={drawn}
                            times={series.times}
                            columns={drawn.map(({ name }) => series.column(name))}
                        />
                    );
                })}
            </div>
            <h2>Now</h2>
            <Scroll label="Table of channels">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">Channel</th>
                            <th scope="col" class="number">
                                Messages
                            </th>
                            <th scope="col" class="number">
                                Bytes
                            </th>
                            <th scope="col" class="number">
                                Queued
                            </th>
                            <th scope="col" class="number">
                                Dropped in all
                            </th>
                            <th scope="col" class="number">
                                Messages in all
                            </th>
                            <th scope="col" class="number">
                                Bytes in all
                            </th>
                        </tr>
                    </thead>
                    <tbody>
                        {names.map(name => {
                            const channel = channels[name] ?? {};
                            return (
                                <tr key={name}>
                                    <th scope="row">{name}</th>
                                    <td class="number">{rate(channel.messages_per_second)}</td>
                                    <td class="number">{rate(channel.bytes_per_second, "B")}</td>
                                    <td class="number">{bytes(channel.queue_bytes)}</td>
                                    <td class={`number ${channel.dropped ? "bad" : ""}`}>
                                        {count(channel.dropped)}
                                    </td>
                                    <td class="number">{count(channel.messages)}</td>
                                    <td class="number">{bytes(channel.bytes)}</td>
                                </tr>
                            );
                        })}
                    </tbody>
                </table>
            </Scroll>
        </section>
    );
}

function lengthOf(times: readonly number[]): number {
    return (times.at(-1) ?? 0) - (times[0] ?? 0);
}

export const traffic: View = {
    id: "traffic",
    title: "Traffic",
    shown: page => Object.keys(page.open?.summary.channels ?? {}).length > 0,
    View: Traffic,
    record,
};
