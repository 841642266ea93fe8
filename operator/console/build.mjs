// Bundles the page, or runs its tests: `node build.mjs [DIRECTORY]`, `node build.mjs --test`.
//
// The page is index.html, app.js, app.css and the workers, written to DIRECTORY, by default the
// operator's package. The same sources give the same bytes.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const shared = {
    absWorkingDir: here,
    bundle: true,
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    logLevel: "warning",
};

async function page(directory) {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    const workers = readdirSync(join(here, "src"), { recursive: true })
        .filter(name => name.endsWith(".worker.ts"))
        .map(name => join("src", name));
    await build({
        ...shared,
        entryPoints: [{ in: "src/main.tsx", out: "app" }, ...workers],
        entryNames: "[name]",
        outdir: directory,
        format: "esm",
        minify: true,
        legalComments: "inline",
        define: { "process.env.NODE_ENV": '"production"' },
    });
    cpSync(join(here, "src", "index.html"), join(directory, "index.html"));
}

async function test() {
    const directory = join(here, "build", "test");
    rmSync(directory, { recursive: true, force: true });
    await build({
        ...shared,
        entryPoints: readdirSync(join(here, "test"))
            .filter(name => /\.test\.tsx?$/.test(name))
            .map(name => join("test", name)),
        outdir: directory,
        outExtension: { ".js": ".mjs" },
        platform: "node",
        format: "esm",
        sourcemap: "inline",
    });
    const files = readdirSync(directory).map(name => join(directory, name));
    const done = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], {
        cwd: here,
        stdio: "inherit",
    });
    process.exitCode = done.status ?? 1;
}

const argument = process.argv[2];
if (argument === "--test") {
    await test();
} else {
    await page(argument ?? join(here, "..", "src", "partisan_operator", "console", "page"));
}
