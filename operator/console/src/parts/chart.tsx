// A chart of values over time, with the names of its lines at their ends instead of a legend.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "./chart.css";
import { clock, short } from "../model/figures.ts";
import type { Column } from "../model/series.ts";
import { colours, faint, onTheme } from "./colours.ts";

export interface Line {
    name: string;
    /** Name of the colour in the style sheet. */
    colour: string;
    /** Lines without a name at their end are edges of bands. */
    quiet?: boolean;
    dash?: number[];
}

export interface Band {
    /** Numbers of the lines above and below. */
    between: [number, number];
    colour: string;
    opacity: number;
}

interface ChartProps {
    title: string;
    /** Unit of the values, such as `B`. */
    unit: string;
    lines: Line[];
    bands?: Band[];
    times: readonly number[];
    columns: Column[];
    /** In lines of text. */
    height?: number;
}

const FAMILY = "system-ui, sans-serif";
const MAX_NAME = 16;

/** Seconds between two times at the axis. */
const STEPS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 86_400];

export function Chart({ title, unit, lines, bands = [], times, columns, height = 12 }: ChartProps) {
    const box = useRef<HTMLDivElement>(null);
    const readout = useRef<HTMLParagraphElement>(null);
    const plot = useRef<uPlot>(undefined);
    const [theme, setTheme] = useState(0);
    const data = [times, ...columns] as uPlot.AlignedData;
    useEffect(() => onTheme(() => setTheme(number => number + 1)), []);
    useEffect(() => {
        const element = box.current as HTMLDivElement;
        const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
        const made = new uPlot(
            {
                ...options(0.8 * rem, unit, lines, bands, readout.current as HTMLElement),
                width: element.clientWidth,
                height: height * rem,
            },
            data,
            element,
        );
        plot.current = made;
        const resized = new ResizeObserver(() => {
            if (element.clientWidth !== made.width) {
                made.setSize({ width: element.clientWidth, height: made.height });
            }
        });
        resized.observe(element);
        return () => {
            resized.disconnect();
            made.destroy();
        };
    }, [theme, unit, JSON.stringify(lines)]);
    useEffect(() => {
        plot.current?.setData(data);
    }, [times.length, times[0], times.at(-1)]);
    return (
        <figure class="chart">
            <figcaption>{title}</figcaption>
            <div ref={box} role="img" aria-label={`${title}, over time`} />
            <p class="note" ref={readout} />
        </figure>
    );
}

function options(
    size: number,
    unit: string,
    lines: Line[],
    bands: Band[],
    readout: HTMLElement,
): Omit<uPlot.Options, "width" | "height"> {
    const theme = colours(["--quiet", "--line", "--page", ...lines.map(line => line.colour)]);
    const colour = (name: string) => theme.get(name) ?? "";
    const labels = lines.filter(line => !line.quiet).map(({ name }) => cut(name));
    const axis: uPlot.Axis = {
        stroke: colour("--quiet"),
        font: `${size}px ${FAMILY}`,
        grid: { stroke: colour("--line"), width: 1 },
        ticks: { show: false },
    };
    return {
        padding: [
            size,
            size + 0.6 * size * Math.max(0, ...labels.map(label => label.length)),
            0,
            0,
        ],
        legend: { show: false },
        cursor: { sync: { key: "time" }, drag: { x: false, y: false }, points: { size: 6 } },
        scales: { y: { range: (_, _least, greatest) => [0, greatest > 0 ? 1.05 * greatest : 1] } },
        axes: [
            { ...axis, space: 8 * size, incrs: STEPS, values: (_, splits) => splits.map(clock) },
            {
                ...axis,
                size: 5.5 * size,
                values: (_, splits) => splits.map(value => short(value, unit)),
            },
        ],
        series: [
            {},
            ...lines.map(line => ({
                label: line.name,
                stroke: line.quiet ? "transparent" : colour(line.colour),
                width: line.quiet ? 0 : 1.5,
                points: { show: false },
                ...(line.dash === undefined ? {} : { dash: line.dash }),
            })),
        ],
        bands: bands.map(({ between: [above, below], colour: name, opacity }) => ({
            series: [above + 1, below + 1] as [number, number],
            fill: faint(colour(name), opacity),
        })),
        hooks: {
            draw: [drawn => drawNames(drawn, size, lines, colour)],
            setCursor: [moved => describe(moved, lines, unit, readout)],
        },
    };
}

/** Writes the lines' names at their ends, moved apart where they would overlap. */
function drawNames(
    plot: uPlot,
    size: number,
    lines: Line[],
    colour: (name: string) => string,
): void {
    const { ctx, bbox } = plot;
    const unit = size * devicePixelRatio;
    const ends = lines.flatMap((line, at) => {
        const value = (plot.data[at + 1] as Column).filter(each => each !== null).at(-1);
        return line.quiet || value === undefined
            ? []
            : [{ line, y: plot.valToPos(value, "y", true) }];
    });
    ends.sort((left, right) => right.y - left.y);
    let below = bbox.top + bbox.height + 1.2 * unit;
    ctx.save();
    ctx.font = `${unit}px ${FAMILY}`;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    for (const { line, y } of ends) {
        below = Math.min(y, below - 1.2 * unit);
        ctx.fillStyle = colour(line.colour);
        ctx.fillText(cut(line.name), bbox.left + bbox.width + 0.5 * unit, below);
    }
    ctx.restore();
}

/** Writes the values under the pointer. */
function describe(plot: uPlot, lines: Line[], unit: string, readout: HTMLElement): void {
    const at = plot.cursor.idx;
    const time = at === null || at === undefined ? undefined : plot.data[0][at];
    if (at === null || at === undefined || time === undefined) {
        readout.textContent = "";
        return;
    }
    const values = lines.flatMap(({ name }, line) => {
        const value = plot.data[line + 1]?.[at];
        return typeof value === "number" ? [`${name} ${short(value, unit)}`] : [];
    });
    readout.textContent = `${clock(time)}: ${values.join(", ")}`;
}

function cut(name: string): string {
    return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name;
}
