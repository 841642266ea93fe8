// Light, dark, or as the system is. Kept in localStorage, which may be forbidden.

import { useState } from "preact/hooks";

const KEY = "partisan-theme";
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

/** Applies the theme that was chosen earlier. */
export function restoreTheme(): Theme {
    let kept: string | null = null;
    try {
        kept = localStorage.getItem(KEY);
    } catch {
        // As on the first visit.
    }
    const theme = THEMES.find(name => name === kept) ?? "system";
    apply(theme);
    return theme;
}

export function ThemeSwitch() {
    const [theme, setTheme] = useState<Theme>(restoreTheme);
    const choose = (next: Theme) => {
        apply(next);
        setTheme(next);
        try {
            localStorage.setItem(KEY, next);
        } catch {
            // It holds until the page is closed.
        }
    };
    return (
        <label class="quiet">
            <span class="hidden">Theme</span>
            <select value={theme} onChange={event => choose(event.currentTarget.value as Theme)}>
                <option value="system">System theme</option>
                <option value="light">Light</option>
                <option value="dark">Dark</option>
            </select>
        </label>
    );
}

/** Canvases listen to the event, since their colours are not in the style sheet. */
function apply(theme: Theme): void {
    document.documentElement.dataset.theme = theme;
    dispatchEvent(new Event("themechange"));
}
