// What may be wider than the window: it scrolls by itself, with the arrow keys too.

import type { ComponentChildren } from "preact";

export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
    return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard cannot scroll.
        <section class="scroll" aria-label={label} tabIndex={0}>
            {children}
        </section>
    );
}
