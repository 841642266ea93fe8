// The document of the stream: docs/guides/console.md describes each field. Figures that are
// unknown are absent. A field may be added within a version, so a reader ignores what it does not know.

export interface Document {
    /** By `NAMESPACE/NAME`. */
    clusters: Record<string, Summary>;
    details: Record<string, Details>;
}

export interface Summary {
    phase: string;
    paused: boolean;
    nodes: NodeFigures;
    conditions: Record<string, Condition>;
    overlay?: Overlay;
    channels: Record<string, Channel>;
    run?: Run;
    timings?: Timings;
}

/** When milestones were first reached: RFC 3339, UTC. */
export interface Timings {
    appliedAt?: string;
    readyAt?: string;
    joinedAt?: string;
    startedAt?: string;
    convergedAt?: string;
}

export interface NodeFigures {
    wanted?: number;
    exist?: number;
    ready?: number;
    joined?: number;
    configured?: number;
}

export interface Condition {
    status: "True" | "False" | "Unknown";
    reason: string;
    message: string;
    /** RFC 3339, UTC. */
    since: string;
}

export interface Overlay {
    kind: string;
    previous?: string;
    components?: number;
    isolated?: number;
    links?: number;
    mean_degree?: number;
}

export interface Channel {
    messages?: number;
    bytes?: number;
    dropped?: number;
    queue_bytes?: number;
    messages_per_second?: number;
    bytes_per_second?: number;
}

export interface Run {
    id: string;
    module: string;
    phase: "Waiting" | "Running" | "Finished";
    started_at?: string;
    finished_at?: string;
    value?: number;
    threshold?: number;
    increments?: number;
    lost?: number;
    replaced_nodes?: number;
    bytes?: number;
    overcounting_percent?: number;
    /** The others of the ad counter alone. */
    ads?: number;
    synchronization?: string;
    increment_seconds?: number;
    propagation_seconds?: number;
}

export interface Details {
    /** Seconds since 1970. */
    observed_at: number;
    nodes: Record<string, ClusterNode>;
    /** By `NODE NODE`, the ends in order. */
    links: Record<string, Link>;
    omitted?: { nodes?: number; links?: number };
    values?: Band;
    /** By number, ascending. */
    events: Record<string, ClusterEvent>;
}

export type NodeState =
    | "absent"
    | "starting"
    | "silent"
    | "joining"
    | "joined"
    | "unready"
    | "leaving";

export interface ClusterNode {
    state: NodeState;
    zone?: string;
    kind?: string;
    previous?: string;
    incarnation?: number;
    configured?: boolean;
    queue_bytes?: number;
}

export interface Link {
    channels?: Record<string, LinkChannel>;
}

export interface LinkChannel {
    messages_per_second?: number;
    bytes_per_second?: number;
}

/** The replicas' values in the run. */
export interface Band {
    count: number;
    least: number;
    lower: number;
    median: number;
    upper: number;
    greatest: number;
}

export interface ClusterEvent {
    /** Seconds since 1970. */
    at: number;
    type: string;
    reason: string;
    message: string;
}
