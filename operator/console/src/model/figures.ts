// The one way in which the page writes figures, so that they look alike and align.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const UNITS = ["", "k", "M", "G", "T", "P"];

/** What stands for an unknown figure. */
export const UNKNOWN = "–";

/** A count in full, with separators. */
export function count(value: number | undefined): string {
    return known(value) ? WHOLE.format(value) : UNKNOWN;
}

/** A figure with three significant digits and a decimal prefix, such as `1.23 k`. */
export function short(value: number | undefined, unit = ""): string {
    if (!known(value)) {
        return UNKNOWN;
    }
    let scaled = value;
    let prefix = 0;
    while (Math.abs(scaled) >= 999.5 && prefix < UNITS.length - 1) {
        scaled /= 1000;
        prefix += 1;
    }
    return `${SHORT.format(scaled)} ${UNITS[prefix]}${unit}`.trimEnd();
}

/** Bytes, such as `1.23 MB`. */
export function bytes(value: number | undefined): string {
    return short(value, "B");
}

/** A rate, such as `1.23 MB/s` with the unit `B`. */
export function rate(value: number | undefined, unit = ""): string {
    return known(value)
        ? `${short(value, unit)}${unit ? "/s" : " /s"}`.replace("  ", " ")
        : UNKNOWN;
}

/** A time span of some seconds, such as `2 min 5 s`. */
export function span(seconds: number | undefined): string {
    if (!known(seconds)) {
        return UNKNOWN;
    }
    if (seconds < 60) {
        return `${SHORT.format(Math.max(0, seconds))} s`;
    }
    const whole = Math.round(seconds);
    if (whole < 3600) {
        return `${Math.floor(whole / 60)} min ${whole % 60} s`;
    }
    const hours = Math.floor(whole / 3600);
    const minutes = Math.floor((whole % 3600) / 60);
    return hours < 48 ? `${hours} h ${minutes} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The local time of day; `at` in seconds since 1970. */
export function clock(at: number): string {
    const time = new Date(at * 1000);
    return Number.isFinite(time.valueOf()) ? time.toLocaleTimeString("en-GB") : UNKNOWN;
}

/** A time for programs, in UTC; undefined if there is no such date. */
export function iso(at: number): string | undefined {
    const time = new Date(at * 1000);
    return Number.isFinite(time.valueOf()) ? time.toISOString() : undefined;
}

function known(value: number | undefined): value is number {
    return typeof value === "number" && Number.isFinite(value);
}
