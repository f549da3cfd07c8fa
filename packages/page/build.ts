import { fileURLToPath } from "node:url";
import { build } from "esbuild";

// The page's program and its styles, each as one file: what `pageHtml` puts into a page, and `serveSession` serves.
const folder = fileURLToPath(new URL(".", import.meta.url));

await build({
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
});
