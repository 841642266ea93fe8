// Colours of the style sheet, for what is drawn on a canvas.

/** Reads colours by their names, such as `--ink`, as `rgb()` of the theme in force. */
export function colours(names: readonly string[]): Map<string, string> {
    const probe = document.createElement("span");
    document.body.append(probe);
    const found = new Map<string, string>();
    for (const name of names) {
        probe.style.color = `var(${name})`;
        found.set(name, getComputedStyle(probe).color);
    }
    probe.remove();
    return found;
}

/** An `rgb()` colour with an opacity from 0 to 1. */
export function faint(colour: string, opacity: number): string {
    return colour.startsWith("rgb(") ? `rgba(${colour.slice(4, -1)}, ${opacity})` : colour;
}

/** Calls a function when the theme changes; returns one that ends that. */
export function onTheme(changed: () => void): () => void {
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", changed);
    window.addEventListener("themechange", changed);
    return () => {
        system.removeEventListener("change", changed);
        window.removeEventListener("themechange", changed);
    };
}
