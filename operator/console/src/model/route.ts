// The fragment of the URL: `#NAMESPACE/NAME/VIEW`. Each part may be absent from the right.

export interface Route {
    namespace: string;
    name: string;
    view: string;
}

export function parse(fragment: string): Route {
    const [namespace = "", name = "", view = ""] = fragment
        .replace(/^#/, "")
        .split("/")
        .map(decoded);
    return { namespace, name, view };
}

export function fragment(namespace = "", name = "", view = ""): string {
    const parts = [namespace, name, view].map(encodeURIComponent);
    return `#${parts.join("/").replace(/\/+$/, "")}`;
}

/** The key of the open cluster in the document; empty without one. */
export function key(route: Route): string {
    return route.name ? `${route.namespace}/${route.name}` : "";
}

/** The query of the stream: which clusters, and which one with its details. */
export function query(route: Route): string {
    const parts = new URLSearchParams();
    if (route.namespace) {
        parts.set("namespace", route.namespace);
    }
    if (route.name) {
        parts.set("cluster", route.name);
    }
    const text = parts.toString();
    return text ? `?${text}` : "";
}

function decoded(part: string): string {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}
