// JSON merge patches (RFC 7386), as the operator's console/patches.py makes them.

export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject {
    [key: string]: Json;
}

/**
 * A copy of a value whose objects have no prototype.
 *
 * Names of nodes and channels are keys: without this, `constructor` would be found in every object,
 * and an assignment to `__proto__` would change one.
 */
export function bare(value: Json): Json {
    if (Array.isArray(value)) {
        return value.map(bare);
    }
    if (!isObject(value)) {
        return value;
    }
    const copy = empty();
    for (const key of Object.keys(value)) {
        copy[key] = bare(value[key] as Json);
    }
    return copy;
}

/**
 * The document after a patch.
 *
 * Neither argument is changed, and parts that the patch does not mention stay the same objects: a
 * reader compares by identity.
 */
export function merge(target: Json | undefined, patch: Json): Json {
    if (!isObject(patch)) {
        return bare(patch);
    }
    const result = Object.assign(empty(), isObject(target) ? target : null);
    for (const key of Object.keys(patch)) {
        const value = patch[key] as Json;
        if (value === null) {
            delete result[key];
        } else {
            result[key] = merge(result[key], value);
        }
    }
    return result;
}

export function isObject(value: Json | undefined): value is JsonObject {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

function empty(): JsonObject {
    return Object.create(null) as JsonObject;
}
