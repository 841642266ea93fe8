// All views, in the order of the navigation. The first one shown is a cluster's own.

import type { Page } from "../model/page.ts";
import { clusters } from "./clusters.tsx";
import { counterexample } from "./counterexample/index.tsx";
import { events } from "./events.tsx";
import { nodes } from "./nodes.tsx";
import { overlay } from "./overlay/index.tsx";
import { overview } from "./overview.tsx";
import { run } from "./run.tsx";
import { traffic } from "./traffic.tsx";
import type { View } from "./view.ts";

export const VIEWS: readonly View[] = [
    clusters,
    overlay,
    overview,
    nodes,
    traffic,
    run,
    events,
    counterexample,
];

/** The view that the route names, or else the first one that is shown. */
export function chosen(page: Page): View | undefined {
    const shown = VIEWS.filter(view => view.shown(page));
    return shown.find(view => view.id === page.route.view) ?? shown[0];
}
