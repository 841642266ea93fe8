// An execution that `partisan_verify draw` has written; docs/explanation/verification.md describes the
// file. It may come from anywhere: each field is checked, and an error names the first wrong one.

export const FATES = ["deliver", "drop", "lost", "late", "arrive", "duplicate", "corrupt"] as const;
export const KINDS = [
    "call",
    "timer",
    "event",
    "reply",
    "deliver",
    "crash",
    "restart",
    "failed",
] as const;

export interface Message {
    kind: "message";
    /** Milliseconds of virtual time. */
    at: number;
    sent: number;
    from: string;
    to: string;
    type: string;
    occurrence: number;
    fate: (typeof FATES)[number];
    text: string;
}

export interface NodeEvent {
    kind: (typeof KINDS)[number];
    at: number;
    node: string;
    text: string;
}

export type ExecutionEvent = Message | NodeEvent;

export interface Execution {
    name: string;
    module: string;
    violated: string;
    /** The counterexample, a line per step. */
    text: string[];
    nodes: string[];
    events: ExecutionEvent[];
    /** Events at the end that the file leaves out. */
    omitted: number;
}

/** Bytes of the largest file that is opened: several times what 20,000 events need. */
export const MAX_BYTES = 16 * 1024 * 1024;
const MAX_EVENTS = 20_000;
const MAX_NODES = 64;
const MAX_LINES = 1000;
const MAX_TEXT = 1000;

/** Reads a file's text. Throws an Error whose message names what is wrong, and the remedy. */
export function readExecution(text: string): Execution {
    if (/^\s*(%|#\{)/.test(text)) {
        throw new Error(
            "this is a counterexample: it holds decisions, not the messages that they lead to. " +
                "`partisan_verify draw FILE` writes them to NAME.execution.json: open that file",
        );
    }
    const file = fields(parsed(text), "the file");
    if (file.format !== "partisan-execution") {
        throw new Error(
            "not an execution of partisan_verify: its `format` is not partisan-execution. " +
                "`partisan_verify draw FILE` writes NAME.execution.json",
        );
    }
    if (file.version !== 1) {
        throw new Error(`version: the file has ${shown(file.version)}, this page reads 1`);
    }
    const nodes = list(file.nodes, "nodes", MAX_NODES).map((node, at) =>
        string(node, `nodes[${at}]`),
    );
    if (nodes.length === 0 || new Set(nodes).size < nodes.length) {
        throw new Error("nodes: names are needed, each once");
    }
    const known = new Set(nodes);
    return {
        name: string(file.name, "name"),
        module: string(file.module, "module"),
        violated: string(file.violated, "violated"),
        text: list(file.text, "text", MAX_LINES).map((line, at) => string(line, `text[${at}]`)),
        nodes,
        events: list(file.events, "events", MAX_EVENTS).map((event, at) =>
            readEvent(event, `events[${at}]`, known),
        ),
        omitted: file.omitted === undefined ? 0 : natural(file.omitted, "omitted"),
    };
}

function readEvent(value: unknown, where: string, nodes: Set<string>): ExecutionEvent {
    const event = fields(value, where);
    const at = natural(event.at, `${where}.at`);
    const text = string(event.text, `${where}.text`);
    if (event.kind === "message") {
        return {
            kind: "message",
            at,
            text,
            sent: natural(event.sent, `${where}.sent`),
            from: node(event.from, `${where}.from`, nodes),
            // Protocols may send to nodes that there are not: such a message is lost.
            to: string(event.to, `${where}.to`),
            type: string(event.type, `${where}.type`),
            occurrence: natural(event.occurrence, `${where}.occurrence`),
            fate: oneOf(event.fate, `${where}.fate`, FATES),
        };
    }
    return {
        kind: oneOf(event.kind, `${where}.kind`, KINDS),
        at,
        text,
        node: node(event.node, `${where}.node`, nodes),
    };
}

function parsed(text: string): unknown {
    try {
        return JSON.parse(text);
    } catch {
        throw new Error(
            "not an execution of partisan_verify: the file is not JSON. Is it truncated? " +
                "`partisan_verify draw FILE` writes NAME.execution.json",
        );
    }
}

function fields(value: unknown, where: string): Record<string, unknown> {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
        throw new Error(`${where}: not an object, but ${shown(value)}`);
    }
    return value as Record<string, unknown>;
}

function list(value: unknown, where: string, most: number): unknown[] {
    if (!Array.isArray(value)) {
        throw new Error(`${where}: not a list, but ${shown(value)}`);
    }
    if (value.length > most) {
        throw new Error(`${where}: ${value.length} entries, and at most ${most} are drawn`);
    }
    return value;
}

function string(value: unknown, where: string): string {
    if (typeof value !== "string") {
        throw new Error(`${where}: not a text, but ${shown(value)}`);
    }
    return value.slice(0, MAX_TEXT);
}

function natural(value: unknown, where: string): number {
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
        throw new Error(`${where}: not a whole number from 0 on, but ${shown(value)}`);
    }
    return value;
}

function oneOf<T extends string>(value: unknown, where: string, allowed: readonly T[]): T {
    if (!allowed.includes(value as T)) {
        throw new Error(`${where}: ${shown(value)} is none of ${allowed.join(", ")}`);
    }
    return value as T;
}

function node(value: unknown, where: string, nodes: Set<string>): string {
    const name = string(value, where);
    if (!nodes.has(name)) {
        throw new Error(`${where}: ${shown(name)} is not in nodes`);
    }
    return name;
}

function shown(value: unknown): string {
    return (JSON.stringify(value) ?? "nothing").slice(0, 60);
}
