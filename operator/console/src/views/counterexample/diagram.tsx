// The space-time diagram as SVG. Events after the current step are faint.

import type { ComponentChildren } from "preact";
import type { Execution, ExecutionEvent } from "../../model/execution.ts";
import { arrives, label, type Row, tone, uptimes } from "../../model/spacetime.ts";

export const ROW = 30;
export const TOP = 44;
const LEFT = 72;
const COLUMN = 170;
/** Between the departures of messages that one event sends: their arrows would lie on one line. */
const FAN = 5;
const LABEL = 24;

interface DiagramProps {
    execution: Execution;
    /** The rows that are drawn; `first` is the number of the first of them. */
    rows: Row[];
    first: number;
    step: number;
}

interface Point {
    x: number;
    y: number;
}

export function Diagram({ execution, rows, first, step }: DiagramProps) {
    const { nodes, violated } = execution;
    const column = new Map(nodes.map((node, at) => [node, LEFT + COLUMN * (at + 0.4)]));
    const width = LEFT + COLUMN * nodes.length + 20;
    const height = TOP + ROW * (rows.length + 1);
    const clamp = (row: number) => Math.min(rows.length, Math.max(-0.6, row - first));
    const y = (row: number) => TOP + ROW * (clamp(row) + 0.5);
    const x = (node: string) => column.get(node) ?? width - 10;
    return (
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img">
            <title>{`Space-time diagram of ${execution.name}; violated: ${violated}`}</title>
            <rect class="current" x={0} y={y(step) - ROW / 2} width={width} height={ROW} />
            {uptimes(execution)
                .filter(({ from, to }) => to >= first && from <= first + rows.length)
                .map(({ node, from, to }) => (
                    <line
                        key={`${node} ${from}`}
                        class="uptime"
                        x1={x(node)}
                        y1={y(from)}
                        x2={x(node)}
                        y2={y(to)}
                    />
                ))}
            {nodes.map(node => (
                <text key={node} class="node" x={x(node)} y={TOP - 22}>
                    {cut(node)}
                </text>
            ))}
            {rows.map(({ event, origin, order }, at) => {
                const row = first + at;
                const leaves = {
                    x: event.kind === "message" ? x(event.from) : 0,
                    y: y(origin) + FAN * order,
                };
                return (
                    <g key={row} class={`${tone(event)} ${row > step ? "ahead" : ""}`}>
                        {rows[at - 1]?.event.at === event.at ? null : (
                            <text class="time" x={LEFT - 12} y={y(row) + 4}>
                                {event.at} ms
                            </text>
                        )}
                        <Mark event={event} x={x} y={y(row)} leaves={leaves} />
                    </g>
                );
            })}
        </svg>
    );
}

interface MarkProps {
    event: ExecutionEvent;
    x: (node: string) => number;
    y: number;
    /** Where the message leaves its sender. */
    leaves: Point;
}

function Mark({ event, x, y, leaves }: MarkProps) {
    const text = cut(label(event));
    if (event.kind !== "message") {
        const at = { x: x(event.node), y };
        return (
            <>
                {event.kind === "crash" || event.kind === "failed" ? (
                    <Cross at={at} />
                ) : (
                    <circle cx={at.x} cy={at.y} r={4} />
                )}
                <text x={at.x + 10} y={y - 5}>
                    {text}
                </text>
            </>
        );
    }
    const receiver = { x: x(event.to), y };
    if (arrives(event)) {
        return (
            <Arrow from={leaves} to={receiver} part={0.72} text={text}>
                <path class="tip" d={tip(leaves, receiver)} />
            </Arrow>
        );
    }
    const end = between(leaves, receiver, event.fate === "late" ? 0.35 : 0.66);
    return (
        <Arrow from={leaves} to={end} part={1} text={text}>
            {event.fate === "late" ? <circle cx={end.x} cy={end.y} r={3} /> : <Cross at={end} />}
        </Arrow>
    );
}

interface ArrowProps {
    from: Point;
    to: Point;
    /** Where on its way its text stands. */
    part: number;
    text: string;
    children: ComponentChildren;
}

function Arrow({ from, to, part, text, children }: ArrowProps) {
    const at = between(from, to, part);
    return (
        <>
            <line x1={from.x} y1={from.y} x2={to.x} y2={to.y} />
            {children}
            <text class="over" x={at.x} y={at.y - 6}>
                {text}
            </text>
        </>
    );
}

function Cross({ at: { x, y } }: { at: Point }) {
    return <path d={`M${x - 5} ${y - 5}L${x + 5} ${y + 5}M${x - 5} ${y + 5}L${x + 5} ${y - 5}`} />;
}

function between(from: Point, to: Point, part: number): Point {
    return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}

function tip(from: Point, to: Point): string {
    const angle = Math.atan2(to.y - from.y, to.x - from.x);
    const corner = (turn: number) =>
        `L${to.x - 9 * Math.cos(angle + turn)} ${to.y - 9 * Math.sin(angle + turn)}`;
    return `M${to.x} ${to.y}${corner(0.4)}${corner(-0.4)}Z`;
}

function cut(text: string): string {
    return text.length > LABEL ? `${text.slice(0, LABEL - 1)}…` : text;
}
