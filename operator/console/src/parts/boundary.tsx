// An error in one view leaves the others usable.

import { Component, type ComponentChildren } from "preact";

export class Boundary extends Component<{ children: ComponentChildren }, { error?: Error }> {
    static override getDerivedStateFromError(error: Error): { error: Error } {
        return { error };
    }

    override componentDidCatch(error: Error): void {
        console.error(error);
    }

    override render() {
        const { error } = this.state;
        if (error === undefined) {
            return this.props.children;
        }
        return (
            <p class="notice bad" role="alert">
                This view has failed: {error.message}. Reload the page; if it fails again, please
                report it.
            </p>
        );
    }
}
