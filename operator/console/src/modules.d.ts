// What TypeScript cannot know of the files that the bundler reads.

declare module "*.css";

declare module "graphology-layout-forceatlas2/iterate.js" {
    /** One iteration; changes the first two columns of `nodes` (x and y) and those it needs. */
    export default function iterate(
        settings: Record<string, number | boolean>,
        nodes: Float32Array,
        edges: Float32Array,
    ): void;
}
