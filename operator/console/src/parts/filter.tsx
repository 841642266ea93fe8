// What stands above a table: the field that filters its rows, and how many of them are shown.

import type { ComponentChildren } from "preact";
import { count } from "../model/figures.ts";

interface Props {
    text: string;
    /** What is searched. */
    hint: string;
    onText: (text: string) => void;
    found: number;
    all: number;
    /** What the rows are. */
    what: string;
    /** Fields before that of the filter. */
    children?: ComponentChildren;
    /** For screen readers, after the numbers. */
    news?: string;
}

export function Filter({ text, hint, onText, found, all, what, children, news }: Props) {
    return (
        <div class="bar">
            {children}
            <label>
                Filter{" "}
                <input
                    type="search"
                    value={text}
                    placeholder={hint}
                    onInput={event => onText(event.currentTarget.value)}
                />
            </label>
            <span class="note" aria-live="polite">
                {count(found)} of {count(all)} {what}
                {news === undefined ? null : <span class="hidden">{news}</span>}
            </span>
        </div>
    );
}
