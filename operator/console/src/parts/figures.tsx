// Labelled figures in a row, such as the counts of a cluster's nodes.

import type { ComponentChildren } from "preact";

export interface Figure {
    label: string;
    value: ComponentChildren;
    /** Small text after the value, such as `of 32`. */
    note?: string;
}

export function Figures({ figures }: { figures: Figure[] }) {
    return (
        <dl class="figures">
            {figures.map(({ label, value, note }) => (
                <div key={label}>
                    <dt>{label}</dt>
                    <dd>
                        {value}
                        {note ? <span class="note"> {note}</span> : null}
                    </dd>
                </div>
            ))}
        </dl>
    );
}
