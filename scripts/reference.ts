import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { referencePages } from "./reference/pages.ts";

// Writes docs/reference and the API.md of each library from the code: `pnpm docs:reference`.
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
rmSync(join(root, "docs/reference"), { recursive: true, force: true });
const pages = await referencePages(root);
for (const [path, text] of pages) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
console.log(`${pages.size} pages written`);
