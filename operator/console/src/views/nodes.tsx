// The open cluster's nodes as a table: also the alternative to the picture of the overlay.

import { useState } from "preact/hooks";
import type { ClusterNode } from "../model/document.ts";
import { bytes, count } from "../model/figures.ts";
import { selects } from "../model/filter.ts";
import { byName, degrees } from "../model/graph.ts";
import type { Page } from "../model/page.ts";
import { Filter } from "../parts/filter.tsx";
import { same } from "../parts/same.ts";
import { Scroll } from "../parts/scroll.tsx";
import type { View } from "./view.ts";

/** Rows that are drawn before the reader asks for more. */
const ROWS = 200;

function Nodes({ page }: { page: Page }) {
    const [filter, setFilter] = useState("");
    const [rows, setRows] = useState(ROWS);
    const details = page.open?.details;
    if (details === undefined) {
        return null;
    }
    const found = Object.keys(details.nodes)
        .sort(byName)
        .filter(name => selects(filter, texts(name, details.nodes[name] as ClusterNode)));
    const degree = degrees(details.links);
    return (
        <section data-view="nodes" aria-label="Nodes">
            <Filter
                text={filter}
                hint="name, state, zone or kind"
                onText={setFilter}
                found={found.length}
                all={Object.keys(details.nodes).length}
                what="nodes"
            />
            <Scroll label="Table of nodes">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">Node</th>
                            <th scope="col">State</th>
                            <th scope="col">Zone</th>
                            <th scope="col">Overlay</th>
                            <th scope="col" class="number">
                                Links
                            </th>
                            <th scope="col" class="number">
                                Queued
                            </th>
                            <th scope="col">Configured</th>
                            <th scope="col" class="number">
                                Incarnation
                            </th>
                        </tr>
                    </thead>
                    <tbody>
                        {found.slice(0, rows).map(name => (
                            <Row
                                key={name}
                                name={name}
                                node={details.nodes[name] as ClusterNode}
                                degree={degree.get(name) ?? 0}
                            />
                        ))}
                    </tbody>
                </table>
            </Scroll>
            {found.length <= rows ? null : (
                <button type="button" onClick={() => setRows(found.length)}>
                    Show {count(found.length - rows)} more
                </button>
            )}
        </section>
    );
}

interface RowProps {
    name: string;
    node: ClusterNode;
    degree: number;
}

const Row = same(({ name, node, degree }: RowProps) => (
    <tr>
        <th scope="row">{name}</th>
        <td>
            <span class={`state ${node.state}`}>{node.state}</span>
        </td>
        <td>{node.zone}</td>
        <td>{node.previous ? `${node.previous} → ${node.kind}` : node.kind}</td>
        <td class="number">{count(degree)}</td>
        <td class="number">{node.queue_bytes === undefined ? "" : bytes(node.queue_bytes)}</td>
        <td>{node.configured === undefined ? "" : node.configured ? "yes" : "not yet"}</td>
        <td class="number">{node.incarnation}</td>
    </tr>
));

function texts(name: string, node: ClusterNode): (string | undefined)[] {
    return [name, node.state, node.zone, node.kind, node.previous];
}

export const nodes: View = {
    id: "nodes",
    title: "Nodes",
    shown: page => page.open?.details !== undefined,
    View: Nodes,
};
