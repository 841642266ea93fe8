// The overlay as a graph: names in order, ends of links, neighbours.

/** Orders `ads-2` before `ads-10`. */
export function byName(left: string, right: string): number {
    const [a, b] = [split(left), split(right)];
    if (a.prefix !== b.prefix) {
        return a.prefix < b.prefix ? -1 : 1;
    }
    return a.number - b.number;
}

/** The two ends of a link's key. */
export function ends(key: string): [string, string] {
    const space = key.indexOf(" ");
    return [key.slice(0, space), key.slice(space + 1)];
}

/** Links of each node that has any. */
export function degrees(links: Record<string, unknown>): Map<string, number> {
    const found = new Map<string, number>();
    for (const key of Object.keys(links)) {
        for (const end of ends(key)) {
            found.set(end, (found.get(end) ?? 0) + 1);
        }
    }
    return found;
}

function split(name: string): { prefix: string; number: number } {
    const match = /^(.*?)(\d+)$/.exec(name);
    return match
        ? { prefix: match[1] ?? "", number: Number(match[2]) }
        : { prefix: name, number: -1 };
}
