// The open cluster's run: the replicas' values over time, what was counted and sent.

import type { Summary } from "../model/document.ts";
import { bytes, count, short, span } from "../model/figures.ts";
import type { Page } from "../model/page.ts";
import { between, progress, publishedBytes } from "../model/run.ts";
import type { Column, Series } from "../model/series.ts";
import { type Band, Chart, type Line } from "../parts/chart.tsx";
import { type Figure, Figures } from "../parts/figures.tsx";
import { usePast } from "../parts/past.ts";
import { recordingOf } from "../stream/recorder.ts";
import type { View } from "./view.ts";

/** Order matters: bands are between numbers of lines. */
const LINES: [column: string, line: Line][] = [
    ["greatest", { name: "greatest", colour: "--series-1", quiet: true }],
    ["upper", { name: "upper quartile", colour: "--series-1", quiet: true }],
    ["lower", { name: "lower quartile", colour: "--series-1", quiet: true }],
    ["least", { name: "least", colour: "--series-1", quiet: true }],
    ["median", { name: "median", colour: "--series-1" }],
];
const BANDS: Band[] = [
    { between: [0, 3], colour: "--series-1", opacity: 0.18 },
    { between: [1, 2], colour: "--series-1", opacity: 0.3 },
];
const THRESHOLD: Line = { name: "threshold", colour: "--quiet", dash: [6, 4] };

function RunView({ page }: { page: Page }) {
    const problem = usePast(page);
    const open = page.open;
    const run = open?.summary.run;
    if (open === undefined || run === undefined) {
        return null;
    }
    const { values } = recordingOf(page);
    const band = open.details?.values;
    return (
        <section data-view="run" aria-label="Run">
            <Figures figures={figures(open.summary)} />
            <Comparison summary={open.summary} />
            <p class="note" aria-live="polite">
                {problem}
            </p>
            <div class="charts">
                <Values series={values} threshold={run.threshold} />
            </div>
            {band === undefined ? null : (
                <>
                    <h2>Values of {count(band.count)} replicas now</h2>
                    <Figures
                        figures={[
                            { label: "Least", value: short(band.least) },
                            { label: "Lower quartile", value: short(band.lower) },
                            { label: "Median", value: short(band.median) },
                            { label: "Upper quartile", value: short(band.upper) },
                            { label: "Greatest", value: short(band.greatest) },
                        ]}
                    />
                </>
            )}
        </section>
    );
}

/** Median and bands; of a workload whose nodes report no values of their own, its value. */
function Values({ series, threshold }: { series: Series; threshold: number | undefined }) {
    const chosen: [string, Line][] = series.names.includes("median")
        ? [...LINES]
        : [["value", { name: "value", colour: "--series-1" }]];
    const lines = chosen.map(([, line]) => line);
    const columns: Column[] = chosen.map(([column]) => series.column(column));
    if (threshold) {
        lines.push(THRESHOLD);
        columns.push(series.times.map(() => threshold));
    }
    return (
        <Chart
            title="Values of the replicas: median, quartiles, least to greatest"
            unit=""
            lines={lines}
            bands={chosen.length > 1 ? BANDS : []}
            times={series.times}
            columns={columns}
            height={20}
        />
    );
}

/** The figures that the run has; custom workloads have no threshold, or count nothing. */
function figures(summary: Summary): Figure[] {
    const { run, timings } = summary;
    if (run === undefined) {
        return [];
    }
    const part = progress(run);
    const converged = between(timings, "startedAt", "convergedAt");
    const found: (Figure | undefined)[] = [
        { label: "Phase", value: run.phase },
        { label: "Workload", value: run.module, note: run.synchronization ?? "" },
        {
            label: "Value",
            value: count(run.value),
            note:
                part === undefined ? "" : `${Math.floor(100 * part)} % of ${count(run.threshold)}`,
        },
        run.increments ? { label: "Increments", value: count(run.increments) } : undefined,
        run.increments
            ? {
                  label: "Lost",
                  value: count(run.lost),
                  note: run.phase === "Running" ? "so far" : "",
              }
            : undefined,
        { label: "Replaced nodes", value: count(run.replaced_nodes) },
        run.overcounting_percent === undefined
            ? undefined
            : { label: "Overcounting", value: `${short(run.overcounting_percent)} %` },
        run.bytes ? { label: "Payload sent", value: bytes(run.bytes) } : undefined,
        converged === undefined
            ? undefined
            : { label: "Start to convergence", value: span(converged) },
    ];
    return found.filter((figure): figure is Figure => figure !== undefined);
}

/** The payload against what is published, for the runs that repeat a published one. */
function Comparison({ summary }: { summary: Summary }) {
    const published = publishedBytes(summary);
    const { run, nodes, overlay } = summary;
    if (published === undefined || !run?.bytes) {
        return null;
    }
    return (
        <p class="published">
            {bytes(published)} are published for a whole run of {count(nodes.wanted)} nodes with{" "}
            {overlay?.kind} and {run.synchronization}.{" "}
            {run.phase === "Finished"
                ? `This run has sent ${ratio(run.bytes, published)}. `
                : `This one has sent ${bytes(run.bytes)} so far. `}
            <span class="note">
                C. Meiklejohn et al., Practical Evaluation of the Lasp Programming Model at Large
                Scale, PPDP 2017; read off its figure.
            </span>
        </p>
    );
}

function ratio(sent: number, published: number): string {
    return sent <= published
        ? `${short(published / sent)} times less`
        : `${short(sent / published)} times more`;
}

export const run: View = {
    id: "run",
    title: "Run",
    shown: page => page.open?.summary.run !== undefined,
    View: RunView,
};
