// Whether a reader's filter selects a row of a table.

/** Whether one of the texts of a row contains the filter, whatever its case. */
export function selects(filter: string, texts: (string | undefined)[]): boolean {
    const wanted = filter.trim().toLowerCase();
    return texts.some(text => text?.toLowerCase().includes(wanted));
}
