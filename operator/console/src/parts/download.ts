// Hands a file that the page has made to the viewer.

/** Saves a text under a name, as a link with `download` does. */
export function download(name: string, text: string): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
}
