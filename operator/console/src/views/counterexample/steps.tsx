// Steps through an execution: buttons, arrow keys and a slider; the diagram and a table follow.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Execution } from "../../model/execution.ts";
import { count } from "../../model/figures.ts";
import { rows, sentence, tone } from "../../model/spacetime.ts";
import { Scroll } from "../../parts/scroll.tsx";
import { Diagram, ROW, TOP } from "./diagram.tsx";

/** Events that are drawn at a time, those around the current one. */
const WINDOW = 300;

export function Steps({ execution }: { execution: Execution }) {
    const last = execution.events.length - 1;
    const [step, setStep] = useState(last);
    const go = (next: number) => setStep(Math.min(last, Math.max(0, next)));
    const all = useMemo(() => rows(execution), [execution]);
    const first = windowStart(step, all.length);
    const figure = useRef<HTMLElement>(null);
    useEffect(() => {
        const box = figure.current;
        const at = (step - first) * ROW;
        if (
            box !== null &&
            (at < box.scrollTop || at > box.scrollTop + box.clientHeight - 4 * ROW)
        ) {
            box.scrollTop = at - box.clientHeight / 2;
        }
    }, [step, first]);
    const event = execution.events[step];
    if (event === undefined) {
        return <p class="notice">The execution has no events.</p>;
    }
    const shown = all.slice(first, first + WINDOW);
    const keys: Record<string, number> = {
        ArrowDown: step + 1,
        ArrowRight: step + 1,
        ArrowUp: step - 1,
        ArrowLeft: step - 1,
        PageDown: step + 10,
        PageUp: step - 10,
        Home: 0,
        End: last,
    };
    const onKeyDown = (pressed: KeyboardEvent) => {
        const next = keys[pressed.key];
        if (next !== undefined && !pressed.ctrlKey && !pressed.altKey && !pressed.metaKey) {
            pressed.preventDefault();
            go(next);
        }
    };
    return (
        <>
            <div class="bar">
                <button type="button" disabled={step === 0} onClick={() => go(0)}>
                    First
                </button>
                <button type="button" disabled={step === 0} onClick={() => go(step - 1)}>
                    Previous
                </button>
                <button type="button" disabled={step === last} onClick={() => go(step + 1)}>
                    Next
                </button>
                <button type="button" disabled={step === last} onClick={() => go(last)}>
                    Last
                </button>
                <input
                    type="range"
                    aria-label="Step"
                    min={0}
                    max={last}
                    value={step}
                    onInput={change => go(Number(change.currentTarget.value))}
                />
                <span class="note">or the arrow keys in the diagram</span>
            </div>
            <p class={`step ${tone(event)}`} aria-live="polite" data-testid="step">
                <span class="note">
                    {count(step + 1)} of {count(last + 1)}, {count(event.at)} ms
                </span>{" "}
                {sentence(event)}
            </p>
            <figure
                ref={figure}
                class="spacetime"
                // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the arrow keys step.
                tabIndex={0}
                onKeyDown={onKeyDown}
                onClick={({ clientY, currentTarget: box }) => {
                    const y = clientY - box.getBoundingClientRect().top + box.scrollTop;
                    go(first + Math.floor((y - TOP) / ROW));
                }}
            >
                <Diagram execution={execution} rows={shown} first={first} step={step} />
            </figure>
            <details>
                <summary>The events as a table</summary>
                <Scroll label="Table of events">
                    <table>
                        <thead>
                            <tr>
                                <th scope="col" class="number">
                                    Step
                                </th>
                                <th scope="col" class="number">
                                    ms
                                </th>
                                <th scope="col">Event</th>
                            </tr>
                        </thead>
                        <tbody>
                            {shown.map((row, at) => (
                                <tr
                                    key={first + at}
                                    aria-current={first + at === step ? "step" : undefined}
                                >
                                    <td class="number">{count(first + at + 1)}</td>
                                    <td class="number">{count(row.event.at)}</td>
                                    <td class={`wide ${tone(row.event)}`}>{sentence(row.event)}</td>
                                </tr>
                            ))}
                        </tbody>
                    </table>
                </Scroll>
                {all.length <= WINDOW ? null : (
                    <p class="note">
                        Events {count(first + 1)} to {count(first + shown.length)} of{" "}
                        {count(all.length)}: those around the current step.
                    </p>
                )}
            </details>
        </>
    );
}

/** The first event that is drawn: it moves in large steps, so that the diagram does not. */
function windowStart(step: number, length: number): number {
    const half = WINDOW / 2;
    const wanted = Math.floor(step / half) * half - half / 2;
    return Math.max(0, Math.min(wanted, length - WINDOW));
}
