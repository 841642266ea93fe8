// A slider over the changes that the operator has kept. Live until the reader goes back.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Document } from "../model/document.ts";
import { clock, count } from "../model/figures.ts";
import type { Page } from "../model/page.ts";
import { query } from "../model/route.ts";
import { loadHistory, Replay } from "../stream/history.ts";

interface TimelineProps {
    page: Page;
    /** Called with the document at the moment chosen, or undefined for now. */
    show: (moment: Document | undefined) => void;
}

export function Timeline({ page, show }: TimelineProps) {
    const [replay, setReplay] = useState<Replay>();
    const [number, setNumber] = useState(0);
    const [text, setText] = useState("");
    const loading = useRef<AbortController>(undefined);
    const { epoch } = page.state;

    const live = (reason: string) => {
        loading.current?.abort();
        setReplay(undefined);
        setText(reason);
        show(undefined);
    };
    const go = (to: number, from: Replay) => {
        setNumber(to);
        show(from.at(to));
    };
    const load = async () => {
        const abort = new AbortController();
        loading.current = abort;
        setText("Loading the history");
        try {
            const history = await loadHistory(query(page.route), abort.signal);
            const made = new Replay(history);
            setReplay(made);
            setText("");
            go(history.changes.length, made);
        } catch (error) {
            if (!abort.signal.aborted) {
                setText(
                    `The history cannot be shown: ${error instanceof Error ? error.message : error}`,
                );
            }
        }
    };
    // The history of the operator that led before is gone with it.
    useEffect(() => {
        if (replay !== undefined && replay.history.epoch !== epoch) {
            live("Live again: the history began anew, since another operator leads now.");
        }
    }, [epoch]);
    useEffect(() => () => loading.current?.abort(), []);

    if (replay === undefined) {
        return (
            <section class="bar timeline" aria-label="Time">
                <span>Live</span>
                <button type="button" onClick={load}>
                    Go back in time
                </button>
                <span class="note" aria-live="polite">
                    {text}
                </span>
            </section>
        );
    }
    const { changes, beganAt } = replay.history;
    const at = number === 0 ? undefined : changes[number - 1]?.at;
    const moment = at === undefined ? "before the first change kept" : clock(at);
    return (
        <section class="bar timeline" aria-label="Time">
            <button type="button" onClick={() => live("")}>
                Live
            </button>
            <input
                type="range"
                aria-label="Change"
                aria-valuetext={`${moment}, change ${number} of ${changes.length}`}
                min={0}
                max={changes.length}
                value={number}
                onInput={event => go(Number(event.currentTarget.value), replay)}
            />
            <output>
                {moment}{" "}
                <span class="note">
                    change {count(number)} of {count(changes.length)}, history since{" "}
                    {clock(beganAt)}
                </span>
            </output>
        </section>
    );
}
