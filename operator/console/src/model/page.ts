// What the page shows at one moment: where it is, what the stream gave, and how the stream fares.

import type { Status } from "../stream/connection.ts";
import type { State } from "../stream/store.ts";
import type { Details, Summary } from "./document.ts";
import { key, type Route } from "./route.ts";

export interface Page {
    route: Route;
    state: State;
    status: Status;
    /** The open cluster, as soon as it is known. */
    open?: Open;
}

export interface Open {
    key: string;
    namespace: string;
    name: string;
    summary: Summary;
    /** Absent until the cluster was observed. */
    details?: Details;
}

export function pageOf(route: Route, state: State, status: Status): Page {
    const summary = state.document.clusters[key(route)];
    if (!route.name || summary === undefined) {
        return { route, state, status };
    }
    const details = state.document.details[key(route)];
    const { namespace, name } = route;
    const open: Open = { key: key(route), namespace, name, summary };
    return { route, state, status, open: details === undefined ? open : { ...open, details } };
}
