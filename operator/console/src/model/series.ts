// Values over time, the newest of them, as charts need them: a column of times, one for each line.

/** Points that are kept: 20 minutes of a cluster that is observed each second. */
export const MAX_POINTS = 1200;

/** Points beyond that before the oldest are dropped: moving all of them each time would cost. */
const SLACK = 120;

/** Lines that are kept, in the order in which they appeared. */
export const MAX_LINES = 32;

/** Seconds without a point after which a line is broken: nothing is known of the time between. */
const GAP = 60;

export type Column = (number | null)[];
export type Values = Iterable<readonly [name: string, value: number | undefined]>;

export class Series {
    #times: number[] = [];
    #lines = new Map<string, Column>();

    /** Times in seconds since 1970, ascending. */
    get times(): readonly number[] {
        return this.#times;
    }

    get names(): string[] {
        return [...this.#lines.keys()];
    }

    /** The values of a line, one for each time; null where unknown. */
    column(name: string): Column {
        return this.#lines.get(name) ?? this.#times.map(() => null);
    }

    /** Adds a point, unless it is not later than the last one. */
    append(at: number, values: Values): void {
        const last = this.#times.at(-1);
        if (last !== undefined && at <= last) {
            return;
        }
        if (last !== undefined && at - last > GAP) {
            this.#point(last + 0.001, []);
        }
        this.#point(at, values);
        if (this.#times.length > MAX_POINTS + SLACK) {
            const excess = this.#times.length - MAX_POINTS;
            this.#times.splice(0, excess);
            for (const column of this.#lines.values()) {
                column.splice(0, excess);
            }
        }
    }

    /** These points, after those of another series that are older. */
    after(older: Series): Series {
        const joined = new Series();
        const [first = Number.POSITIVE_INFINITY] = this.#times;
        joined.#take(older, time => time < first);
        joined.#take(this, () => true);
        return joined;
    }

    #point(at: number, values: Values): void {
        const before = this.#times.length;
        this.#times.push(at);
        for (const column of this.#lines.values()) {
            column.push(null);
        }
        for (const [name, value] of values) {
            if (value !== undefined && Number.isFinite(value)) {
                const column = this.#lines.get(name) ?? this.#line(name, before);
                if (column !== undefined) {
                    column[before] = value;
                }
            }
        }
    }

    #line(name: string, before: number): Column | undefined {
        if (this.#lines.size >= MAX_LINES) {
            return undefined;
        }
        const column: Column = new Array(before + 1).fill(null);
        this.#lines.set(name, column);
        return column;
    }

    #take(from: Series, wanted: (time: number) => boolean): void {
        from.#times.forEach((time, at) => {
            if (wanted(time)) {
                this.append(
                    time,
                    from.names.map(name => [name, from.column(name)[at] ?? undefined] as const),
                );
            }
        });
    }
}
