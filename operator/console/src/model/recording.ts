// What the charts show of one cluster over time.

import type { Channel, Details, Document, Summary } from "./document.ts";
import { Series } from "./series.ts";

/** The metrics of the channels; each has a line for each channel. */
export const METRICS = ["messages", "bytes", "queued", "dropped"] as const;
export type Metric = (typeof METRICS)[number];

export class Recording {
    traffic: Record<Metric, Series> = {
        messages: new Series(),
        bytes: new Series(),
        queued: new Series(),
        dropped: new Series(),
    };

    /** Lines: the figures of a band, and `value`, the greatest value reported in the run. */
    values = new Series();

    #run = "";
    #at = 0;
    #dropped = new Map<string, number>();

    /** Adds what was observed; the same observation is added once. */
    add(summary: Summary, details: Details): void {
        const at = details.observed_at;
        if (at <= this.#at) {
            return;
        }
        const channels = Object.entries(summary.channels ?? {});
        const each = (value: (channel: Channel, name: string) => number | undefined) =>
            channels.map(([name, channel]) => [name, value(channel, name)] as const);
        this.traffic.messages.append(
            at,
            each(channel => channel.messages_per_second),
        );
        this.traffic.bytes.append(
            at,
            each(channel => channel.bytes_per_second),
        );
        this.traffic.queued.append(
            at,
            each(channel => channel.queue_bytes),
        );
        this.traffic.dropped.append(
            at,
            each((channel, name) => this.#droppedPerSecond(name, channel, at)),
        );
        this.#addRun(summary, details);
        this.#at = at;
    }

    /** Puts the points of an older recording before these. */
    prepend(older: Recording): void {
        for (const metric of METRICS) {
            this.traffic[metric] = this.traffic[metric].after(older.traffic[metric]);
        }
        if (older.#run === this.#run) {
            this.values = this.values.after(older.values);
        }
    }

    #addRun({ run }: Summary, { values, observed_at: at }: Details): void {
        if (run === undefined) {
            return;
        }
        if (run.id !== this.#run) {
            this.#run = run.id;
            this.values = new Series();
        }
        this.values.append(at, [
            ["value", run.value],
            ["least", values?.least],
            ["lower", values?.lower],
            ["median", values?.median],
            ["upper", values?.upper],
            ["greatest", values?.greatest],
        ]);
    }

    /** Undefined at first, and when the counter begins anew with a restarted node. */
    #droppedPerSecond(name: string, { dropped }: Channel, at: number): number | undefined {
        const before = this.#dropped.get(name);
        if (dropped === undefined) {
            return undefined;
        }
        this.#dropped.set(name, dropped);
        return before === undefined || dropped < before
            ? undefined
            : (dropped - before) / (at - this.#at);
    }
}

/** Adds the open cluster of a document, if it was observed. */
export function addFrom(recording: Recording, document: Document, key: string): void {
    const [summary, details] = [document.clusters[key], document.details[key]];
    if (summary !== undefined && details !== undefined) {
        recording.add(summary, details);
    }
}
