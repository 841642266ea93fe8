// Server-sent events, as a pure parser of pieces of text.

export interface ServerEvent {
    event: string;
    data: string;
    id: string;
}

/** Splits a stream into events. Comments and unknown fields are ignored. */
export class EventParser {
    #line = "";
    #event = "";
    #id = "";
    #data: string[] = [];

    /** The events that a piece of the stream completes. */
    push(piece: string): ServerEvent[] {
        const found: ServerEvent[] = [];
        const lines = (this.#line + piece).split("\n");
        this.#line = lines.pop() ?? "";
        for (const line of lines) {
            if (line !== "") {
                this.#field(line);
            } else if (this.#data.length > 0) {
                found.push({ event: this.#event, data: this.#data.join("\n"), id: this.#id });
                this.#event = "";
                this.#data = [];
            }
        }
        return found;
    }

    #field(line: string): void {
        const colon = line.indexOf(":");
        const name = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (name === "event") {
            this.#event = value;
        } else if (name === "data") {
            this.#data.push(value);
        } else if (name === "id") {
            this.#id = value;
        }
    }
}
