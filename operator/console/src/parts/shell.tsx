// The frame around a view: where we are, how the stream fares, which views there are.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { clock, count } from "../model/figures.ts";
import { attention } from "../model/health.ts";
import type { Page } from "../model/page.ts";
import { fragment } from "../model/route.ts";
import { kinds, Phase } from "../views/clusters.tsx";
import type { View } from "../views/view.ts";
import { ThemeSwitch } from "./theme.tsx";

interface ShellProps {
    page: Page;
    views: View[];
    current: View | undefined;
    children: ComponentChildren;
}

export function Shell({ page, views, current, children }: ShellProps) {
    const { namespace, name } = page.route;
    return (
        <>
            <header>
                <nav class="where" aria-label="Where">
                    <a href={fragment()}>Clusters</a>
                    {namespace ? <a href={fragment(namespace)}>{namespace}</a> : null}
                    {name ? <a href={fragment(namespace, name)}>{name}</a> : null}
                </nav>
                <Connection page={page} />
                <ThemeSwitch />
            </header>
            {page.open === undefined ? null : <Head page={page} />}
            {views.length > 1 ? (
                <nav class="views" aria-label="Views">
                    {views.map(view => (
                        <a
                            key={view.id}
                            href={fragment(namespace, name, view.id)}
                            aria-current={view === current ? "page" : undefined}
                        >
                            {view.title}
                        </a>
                    ))}
                </nav>
            ) : null}
            <main>
                <Stream page={page} />
                {children}
            </main>
        </>
    );
}

/** One line about the open cluster, and what needs attention. */
function Head({ page }: { page: Page }) {
    const summary = page.open?.summary;
    if (summary === undefined) {
        return null;
    }
    const { nodes, overlay } = summary;
    return (
        <section class="head" aria-label="Cluster">
            <h1>
                {page.open?.name} <Phase summary={summary} />{" "}
                <span class="note">
                    {count(nodes.joined)} of {count(nodes.wanted)} nodes joined
                    {overlay ? `, ${kinds(overlay.kind, overlay.previous)}` : ""}
                    {(overlay?.components ?? 1) > 1
                        ? `, ${count(overlay?.components)} components`
                        : ""}
                </span>
            </h1>
            <div aria-live="polite">
                {attention(summary).map(([type, { reason, message }]) => (
                    <p key={type} class={`notice ${type === "Degraded" ? "bad" : "wait"}`}>
                        <strong>{reason}</strong> {message}
                    </p>
                ))}
            </div>
        </section>
    );
}

const LABELS = {
    connecting: "Connecting",
    live: "Live",
    waiting: "Disconnected",
    refused: "Refused",
};

function Connection({ page }: { page: Page }) {
    const { status, state } = page;
    return (
        <p class={`connection ${status.kind}`} role="status">
            {LABELS[status.kind]}
            {status.kind !== "live" && state.changedAt > 0
                ? `, last change at ${clock(state.changedAt)}`
                : ""}
        </p>
    );
}

/** What the viewer should know about the stream: errors, a new leader, changes that it missed. */
function Stream({ page }: { page: Page }) {
    const [read, setRead] = useState(0);
    const { status, state, route } = page;
    const reason = state.snapshots > read ? REASONS[state.reason] : undefined;
    return (
        <div aria-live="polite" data-testid="stream">
            {status.text === "" ? null : (
                <p class={`notice ${status.kind === "refused" ? "bad" : "wait"}`}>
                    {status.text}. The page tries again by itself.
                </p>
            )}
            {status.kind === "refused" && !route.name ? <NamespaceForm /> : null}
            {status.kind !== "live" || reason === undefined ? null : (
                <p class="notice">
                    {reason} The history begins at {clock(state.beganAt)}.{" "}
                    <button type="button" onClick={() => setRead(state.snapshots)}>
                        Dismiss
                    </button>
                </p>
            )}
            {state.loaded && route.name && page.open === undefined ? (
                <p class="notice wait">
                    There is no cluster {route.name} in namespace {route.namespace}, or the operator
                    has not reconciled it yet.
                </p>
            ) : null}
        </div>
    );
}

const REASONS: Record<string, string | undefined> = {
    leader: "Another operator leads now.",
    behind: "This browser read too slowly: some changes were skipped.",
};

/** With rights in single namespaces only, or an operator of single namespaces, one is needed. */
function NamespaceForm() {
    return (
        <form
            class="bar"
            onSubmit={event => {
                event.preventDefault();
                const entered = new FormData(event.currentTarget).get("namespace");
                location.hash = fragment(String(entered ?? "").trim());
            }}
        >
            <label>
                Namespace <input name="namespace" required />
            </label>
            <button type="submit">Open</button>
        </form>
    );
}
