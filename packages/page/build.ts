import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

// The page's program and its styles, each as one file: what `pageHtml` puts into a page, and `serveSession` serves.
const folder = fileURLToPath(new URL(".", import.meta.url));

const { metafile } = await build({
  entryPoints: { page: `${folder}browser/main.tsx` },
  outdir: `${folder}dist/page-bundle`,
  bundle: true,
  minify: true,
  format: "iife",
  platform: "browser",
  target: "es2023",
  jsx: "automatic",
  jsxImportSource: "preact",
  // A page is ASCII but for what the session says: nothing depends on how it is served.
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
});
// The command names the licences of these files.
const inputs = Object.keys(metafile.inputs).map((path) => resolve(path));
writeFileSync(`${folder}dist/bundled-modules.json`, JSON.stringify(inputs));
