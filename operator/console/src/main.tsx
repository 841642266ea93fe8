// The page's entry.

import { render } from "preact";
import "./style.css";
import type { Page } from "./model/page.ts";
import { Boundary } from "./parts/boundary.tsx";
import { Shell } from "./parts/shell.tsx";
import { restoreTheme } from "./parts/theme.tsx";
import { Live } from "./stream/live.ts";
import { chosen, VIEWS } from "./views/index.ts";

function App({ page }: { page: Page }) {
    const current = chosen(page);
    return (
        <Shell page={page} views={VIEWS.filter(view => view.shown(page))} current={current}>
            {current === undefined ? null : (
                <Boundary key={`${page.route.namespace}/${page.route.name}/${current.id}`}>
                    <current.View page={page} />
                </Boundary>
            )}
        </Shell>
    );
}

restoreTheme();
const root = document.getElementById("app") as HTMLElement;
new Live(page => {
    for (const view of VIEWS) {
        view.record?.(page);
    }
    document.title = page.route.name ? `${page.route.name} – Partisan` : "Partisan clusters";
    render(<App page={page} />, root);
});
