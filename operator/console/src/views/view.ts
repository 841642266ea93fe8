// What a view is. The registry is index.ts.

import type { ComponentType } from "preact";
import type { Page } from "../model/page.ts";

export interface View {
    /** Last part of the fragment, and `data-view` of the view's root element. */
    id: string;
    title: string;
    /** Whether the installation has what the view shows; `page.open` is the open cluster. */
    shown: (page: Page) => boolean;
    View: ComponentType<{ page: Page }>;
    /** Called once a frame with changes, also while the view is not visible. */
    record?: (page: Page) => void;
}
