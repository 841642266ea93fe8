// A space-time diagram: a column for each node, a row for each event, time downwards (L. Lamport,
// Time, Clocks, and the Ordering of Events in a Distributed System, CACM 21(7), 1978). Rows are not
// to scale: messages take milliseconds and timeouts seconds.

import type { Execution, ExecutionEvent, Message } from "./execution.ts";

/** How an event looks: as usual, as a fault, as late or changed, as an output, as a detail. */
export type Tone = "plain" | "fault" | "odd" | "good" | "quiet";

export interface Row {
    event: ExecutionEvent;
    /** The row from whose event a message left its sender; -1 is the beginning. */
    origin: number;
    /** How many messages had left from there before. */
    order: number;
}

/** A part of a node's line: rows between which it runs. */
export interface Uptime {
    node: string;
    from: number;
    to: number;
}

/** The rows of an execution, with the origins of messages. */
export function rows(execution: Execution): Row[] {
    const last = new Map<string, number>();
    const left = new Map<string, number>();
    return execution.events.map((event, row) => {
        let origin = -1;
        let order = 0;
        if (event.kind === "message") {
            origin = last.get(moment(event.from, event.sent)) ?? -1;
            const departure = `${event.from} ${event.sent} ${origin}`;
            order = left.get(departure) ?? 0;
            left.set(departure, order + 1);
        }
        const node = place(event);
        if (node !== undefined) {
            last.set(moment(node, event.at), row);
        }
        return { event, origin, order };
    });
}

/** The parts of each node's line on which it runs; `end` is the row after the last one. */
export function uptimes(execution: Execution): Uptime[] {
    return execution.nodes.flatMap(node => {
        const found: Uptime[] = [];
        let since: number | undefined = -1;
        execution.events.forEach((event, row) => {
            if (event.kind === "message" || event.node !== node) {
                return;
            }
            if (event.kind === "crash" && since !== undefined) {
                found.push({ node, from: since, to: row });
                since = undefined;
            } else if (event.kind === "restart") {
                since ??= row;
            }
        });
        if (since !== undefined) {
            found.push({ node, from: since, to: execution.events.length });
        }
        return found;
    });
}

/** Whether a message reaches its receiver in this event. */
export function arrives({ fate }: Message): boolean {
    return fate !== "drop" && fate !== "lost" && fate !== "late";
}

export function tone(event: ExecutionEvent): Tone {
    if (event.kind === "message") {
        return FATES[event.fate].tone;
    }
    return TONES[event.kind];
}

/** Short text next to an event in the diagram. */
export function label(event: ExecutionEvent): string {
    if (event.kind === "message") {
        const again = event.occurrence > 1 ? ` ${event.occurrence}` : "";
        const { mark } = FATES[event.fate];
        return `${event.type}${again}${mark ? ` ${mark}` : ""}`;
    }
    return `${WORDS[event.kind]}${event.kind === "crash" ? "" : ` ${event.text}`}`.trim();
}

/** One line in words, such as `n1 → n2 {commit,1}, lost by a fault`. */
export function sentence(event: ExecutionEvent): string {
    if (event.kind === "message") {
        const { meaning } = FATES[event.fate];
        const again = event.occurrence > 1 ? ` (number ${event.occurrence})` : "";
        return `${event.from} → ${event.to}  ${event.text}${again}${meaning ? `, ${meaning}` : ""}`;
    }
    return `${event.node}  ${WORDS[event.kind]} ${event.text}`.trim();
}

interface Fate {
    tone: Tone;
    mark: string;
    meaning: string;
}

const FATES: Record<Message["fate"], Fate> = {
    deliver: { tone: "plain", mark: "", meaning: "" },
    drop: { tone: "fault", mark: "dropped", meaning: "dropped by a fault" },
    lost: { tone: "quiet", mark: "lost", meaning: "lost: the receiver is down" },
    late: { tone: "odd", mark: "delayed", meaning: "delayed by a fault" },
    arrive: { tone: "odd", mark: "late", meaning: "arrives late, or as a copy" },
    duplicate: { tone: "odd", mark: "duplicated", meaning: "duplicated by a fault" },
    corrupt: { tone: "fault", mark: "corrupted", meaning: "corrupted by a fault" },
};

const TONES: Record<Exclude<ExecutionEvent["kind"], "message">, Tone> = {
    call: "plain",
    timer: "quiet",
    event: "quiet",
    reply: "plain",
    deliver: "good",
    crash: "fault",
    restart: "odd",
    failed: "fault",
};

const WORDS: Record<Exclude<ExecutionEvent["kind"], "message">, string> = {
    call: "",
    timer: "timer",
    event: "",
    reply: "answers",
    deliver: "delivers",
    crash: "crashes",
    restart: "starts again",
    failed: "fails:",
};

/** The node on whose line something happens; none for a message that does not arrive. */
function place(event: ExecutionEvent): string | undefined {
    if (event.kind !== "message") {
        return event.node;
    }
    return arrives(event) ? event.to : undefined;
}

function moment(node: string, at: number): string {
    return `${at} ${node}`;
}
