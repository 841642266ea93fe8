// The figures that the operator kept before the page was opened, as a view needs them.

import { useEffect, useState } from "preact/hooks";
import type { Page } from "../model/page.ts";
import { loadPast } from "../stream/recorder.ts";

/** Adds them to the recording of the open cluster; returns why that failed, or an empty text. */
export function usePast(page: Page): string {
    const [text, setText] = useState("");
    useEffect(() => {
        let closed = false;
        const done = (failure: string) => closed || setText(failure);
        loadPast(page).then(
            () => done(""),
            error =>
                done(`Without earlier figures: ${error instanceof Error ? error.message : error}`),
        );
        return () => {
            closed = true;
        };
    }, [page.open?.key]);
    return text;
}
