// A component that is drawn again only when one of its properties changed. Unchanged parts of the
// document are the same objects, so a table with a thousand rows compares a thousand references.

import { Component, type ComponentChild, type ComponentType } from "preact";

export function same<P extends object>(draw: (props: P) => ComponentChild): ComponentType<P> {
    return class extends Component<P> {
        override shouldComponentUpdate(next: P): boolean {
            const before = this.props as P;
            const names = Object.keys(next) as (keyof P)[];
            return names.some(name => before[name] !== next[name]);
        }

        override render(props: P): ComponentChild {
            return draw(props);
        }
    };
}
