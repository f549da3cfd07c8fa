import { fileURLToPath } from "node:url";
import { checkCycles } from "./structure/cycles.ts";
import { checkEnglish } from "./structure/english.ts";
import { checkLayers } from "./structure/layers.ts";
import { checkNamedFiles } from "./structure/named-files.ts";

// `pnpm lint:structure`, part of `npm test`, checks the order and cycles of imports, comments, and links in documents.
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const errors = [checkLayers(root), checkCycles(root), checkEnglish(root), checkNamedFiles(root)].flat();
for (const error of errors) console.error(`structure: ${error}`);
console.log(`structure: ${errors.length} errors`);
process.exitCode = errors.length === 0 ? 0 : 1;
