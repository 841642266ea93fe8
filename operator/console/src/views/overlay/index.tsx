// The overlay of the open cluster as a picture. The view of nodes has the same as a table.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Details, Document, Summary } from "../../model/document.ts";
import { clock, count } from "../../model/figures.ts";
import { byName } from "../../model/graph.ts";
import type { Open, Page } from "../../model/page.ts";
import { fragment } from "../../model/route.ts";
import { download } from "../../parts/download.ts";
import { Timeline } from "../../parts/timeline.tsx";
import type { View } from "../view.ts";
import { Account } from "./account.tsx";
import type { Layout } from "./arrangement.ts";
import { Legend } from "./legend.tsx";
import { Picture } from "./picture.ts";

const LAYOUTS: Record<Layout, string> = {
    force: "Force",
    zones: "Zones",
    hubs: "Servers inside",
    circle: "Circle",
};

/** Nodes that the search offers. */
const FOUND = 8;

function Overlay({ page }: { page: Page }) {
    const open = page.open as Open;
    const [moment, setMoment] = useState<Document>();
    const [chosen, setLayout] = useState<Layout | "">("");
    const [channel, setChannel] = useState("");
    const [selected, setSelected] = useState("");
    const [failure, setFailure] = useState("");
    const canvas = useRef<HTMLDivElement>(null);
    const signs = useRef<HTMLDivElement>(null);
    const picture = useRef<Picture>(undefined);

    const details = moment === undefined ? open.details : moment.details[open.key];
    const summary = moment?.clusters[open.key] ?? open.summary;
    const kind = summary.overlay?.kind;
    const layout = chosen || layoutOf(kind);
    const channels = useMemo(() => (details ? channelsOf(summary, details) : []), [details]);

    useLayoutEffect(() => {
        const made = new Picture(
            canvas.current as HTMLElement,
            signs.current as HTMLElement,
            setSelected,
        );
        picture.current = made;
        return () => made.close();
    }, []);
    useLayoutEffect(() => {
        if (details !== undefined) {
            try {
                picture.current?.update({ details, layout, channel, channels, selected });
            } catch (error) {
                setFailure(error instanceof Error ? error.message : String(error));
            }
        }
    }, [details, layout, channel, channels, selected]);

    const choose = (node: string) => {
        setSelected(node);
        if (node !== "") {
            picture.current?.show(node);
        }
    };
    const press = (event: KeyboardEvent) => {
        const arrow = ARROWS[event.key];
        const factor = ZOOMS[event.key];
        if (arrow !== undefined) {
            setSelected(picture.current?.next(selected, ...arrow) ?? "");
        } else if (factor !== undefined) {
            picture.current?.zoom(factor);
        } else if (event.key === "0") {
            picture.current?.fit();
        } else if (event.key === "Escape") {
            setSelected("");
        } else {
            return;
        }
        event.preventDefault();
    };

    const nodes = Object.keys(details?.nodes ?? {}).length;
    const links = Object.keys(details?.links ?? {}).length;
    const save = () => {
        const size = `${count(nodes)} nodes, ${count(links)} links`;
        const title = `${open.key}, ${clock(details?.observed_at ?? 0)}: ${size}`;
        download(`${open.name}-overlay.svg`, picture.current?.svg(title) ?? "");
    };
    const omitted = details?.omitted;
    return (
        <section data-view="overlay" class="overlay" aria-label="Overlay">
            <div class="bar">
                <label>
                    Layout{" "}
                    <select
                        value={chosen}
                        onChange={event => setLayout(event.currentTarget.value as Layout | "")}
                    >
                        <option value="">Automatic: {LAYOUTS[layoutOf(kind)]}</option>
                        {Object.entries(LAYOUTS).map(([value, title]) => (
                            <option key={value} value={value}>
                                {title}
                            </option>
                        ))}
                    </select>
                </label>
                {channels.length === 0 ? null : (
                    <label>
                        Links{" "}
                        <select
                            value={channel}
                            onChange={event => setChannel(event.currentTarget.value)}
                        >
                            <option value="">all channels</option>
                            {channels.map(name => (
                                <option key={name}>{name}</option>
                            ))}
                        </select>
                    </label>
                )}
                <Search names={Object.keys(details?.nodes ?? {})} choose={choose} />
                <span class="buttons">
                    <button
                        type="button"
                        aria-label="Zoom in"
                        onClick={() => picture.current?.zoom(1.5)}
                    >
                        +
                    </button>
                    <button
                        type="button"
                        aria-label="Zoom out"
                        onClick={() => picture.current?.zoom(1 / 1.5)}
                    >
                        −
                    </button>
                    <button type="button" onClick={() => picture.current?.fit()}>
                        Fit
                    </button>
                    <button type="button" onClick={() => picture.current?.again()}>
                        Arrange anew
                    </button>
                    <button type="button" title="The picture as a file" onClick={save}>
                        Save SVG
                    </button>
                </span>
            </div>
            {failure === "" ? null : (
                <p class="notice bad" role="alert">
                    The picture cannot be drawn: {failure}. It needs WebGL; the{" "}
                    <a href={fragment(open.namespace, open.name, "nodes")}>table of nodes</a> has
                    the same figures.
                </p>
            )}
            {details !== undefined ? null : (
                <p class="notice">
                    {moment === undefined
                        ? "The nodes have not been observed yet."
                        : "No viewer had this cluster open at that moment: its nodes were not kept."}
                </p>
            )}
            <div class="stage">
                <div class="picture">
                    <div
                        ref={canvas}
                        class="canvas"
                        role="application"
                        // biome-ignore lint/a11y/noNoninteractiveTabindex: it has keys of its own
                        tabIndex={0}
                        aria-label={
                            `Graph of ${count(nodes)} nodes and ${count(links)} links. Arrow keys ` +
                            "select the next node in a direction, plus and minus zoom, 0 shows all."
                        }
                        onKeyDown={press}
                    />
                    <div ref={signs} class="signs" aria-hidden="true" />
                    {details === undefined ? null : (
                        <Legend details={details} channels={channels} />
                    )}
                </div>
                {selected === "" || details === undefined ? null : (
                    <Account name={selected} details={details} select={choose} />
                )}
            </div>
            <p class="hidden" role="status">
                {selected === "" ? "" : `${selected} ${details?.nodes[selected]?.state ?? ""}`}
            </p>
            {omitted?.nodes || omitted?.links ? (
                <p class="note">
                    Not shown: {count(omitted.nodes ?? 0)} nodes and {count(omitted.links ?? 0)}{" "}
                    links beyond what a page can draw.
                </p>
            ) : null}
            <Timeline page={page} show={setMoment} />
        </section>
    );
}

const ARROWS: Record<string, [number, number] | undefined> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, 1],
    ArrowDown: [0, -1],
};

const ZOOMS: Record<string, number | undefined> = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 };

function Search({ names, choose }: { names: string[]; choose: (node: string) => void }) {
    const [text, setText] = useState("");
    const wanted = text.trim().toLowerCase();
    const found =
        wanted === "" ? [] : names.filter(name => name.toLowerCase().includes(wanted)).sort(byName);
    const take = (name: string | undefined) => {
        if (name !== undefined) {
            setText("");
            choose(name);
        }
    };
    return (
        <form
            class="search"
            onSubmit={event => {
                event.preventDefault();
                take(found.find(name => name === wanted) ?? found[0]);
            }}
        >
            <label>
                Find{" "}
                <input
                    type="search"
                    placeholder="node"
                    value={text}
                    onInput={event => setText(event.currentTarget.value)}
                />
            </label>
            {wanted === "" ? null : (
                <ul class="plain found" aria-label="Nodes found">
                    {found.slice(0, FOUND).map(name => (
                        <li key={name}>
                            <button type="button" class="link" onClick={() => take(name)}>
                                {name}
                            </button>
                        </li>
                    ))}
                    <li class="note" role="status">
                        {found.length === 0 ? "No node" : ""}
                        {found.length > FOUND ? `and ${count(found.length - FOUND)} more` : ""}
                    </li>
                </ul>
            )}
        </form>
    );
}

/** The layout that suits a kind of overlay. */
function layoutOf(kind: string | undefined): Layout {
    if (kind === "ClientServer" || kind === "PublishSubscribe") {
        return "hubs";
    }
    return kind === "FullMesh" ? "circle" : "force";
}

/** All channels in the order of their names, as in the view of traffic; none without links' rates. */
function channelsOf(summary: Summary, { links }: Details): string[] {
    const known = Object.values(links).some(link => link.channels !== undefined);
    return known ? Object.keys(summary.channels ?? {}).sort() : [];
}

export const overlay: View = {
    id: "overlay",
    title: "Overlay",
    shown: page => page.open?.summary.overlay !== undefined || page.open?.details !== undefined,
    View: Overlay,
};
