// A counterexample's execution, opened from a file and stepped through by hand. It needs no cluster
// and sends nothing anywhere.

import { useState } from "preact/hooks";
import { type Execution, MAX_BYTES, readExecution } from "../../model/execution.ts";
import { bytes, count } from "../../model/figures.ts";
import type { View } from "../view.ts";
import { Steps } from "./steps.tsx";
import "./style.css";

interface Opened {
    file: string;
    execution?: Execution;
    error?: string;
}

/** Kept while other views are shown. */
let kept: Opened | undefined;

function Counterexample() {
    const [opened, setOpened] = useState(kept);
    const [over, setOver] = useState(false);
    const open = async (file: File | undefined) => {
        if (file !== undefined) {
            kept = await read(file);
            setOpened(kept);
        }
    };
    return (
        <section
            data-view="counterexample"
            aria-label="Counterexample"
            class={over ? "over" : ""}
            onDragOver={event => {
                event.preventDefault();
                setOver(true);
            }}
            onDragLeave={() => setOver(false)}
            onDrop={event => {
                event.preventDefault();
                setOver(false);
                void open(event.dataTransfer?.files[0]);
            }}
        >
            <div class="bar">
                <label>
                    Execution of a counterexample{" "}
                    <input
                        type="file"
                        accept=".json,application/json"
                        onChange={event => void open(event.currentTarget.files?.[0])}
                    />
                </label>
                <span class="note">
                    or drop the file here: <code>partisan_verify draw FILE</code> writes{" "}
                    <code>NAME.execution.json</code>
                </span>
            </div>
            <div aria-live="polite">
                {opened?.error === undefined ? null : (
                    <p class="notice bad">
                        {opened.file}: {opened.error}.
                    </p>
                )}
            </div>
            {opened?.execution === undefined ? null : (
                <Shown key={opened.file} execution={opened.execution} />
            )}
        </section>
    );
}

function Shown({ execution }: { execution: Execution }) {
    const { name, module, violated, text, nodes, events, omitted } = execution;
    return (
        <>
            <h1>
                {name}{" "}
                <span class="note">
                    {module}, {count(nodes.length)} nodes, {count(events.length)} events
                    {omitted > 0 ? `, ${count(omitted)} more are left out` : ""}
                </span>
            </h1>
            <p class="notice bad">
                <strong>Violated</strong> {violated}
            </p>
            {text.length === 0 ? null : <pre class="notice">{text.join("\n")}</pre>}
            <Steps execution={execution} />
        </>
    );
}

/** The file's execution, or what is wrong with it. */
async function read(file: File): Promise<Opened> {
    if (file.size > MAX_BYTES) {
        const error = `it has ${bytes(file.size)}; executions have at most ${bytes(MAX_BYTES)}`;
        return { file: file.name, error };
    }
    try {
        return { file: file.name, execution: readExecution(await file.text()) };
    } catch (error) {
        return { file: file.name, error: error instanceof Error ? error.message : String(error) };
    }
}

export const counterexample: View = {
    id: "counterexample",
    title: "Counterexample",
    // Next to a cluster, not instead of one that is not there.
    shown: page => !page.route.name || page.open !== undefined,
    View: Counterexample,
};
