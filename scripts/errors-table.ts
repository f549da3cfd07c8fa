import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ERROR_TABLE, errorTable } from "./structure/error-table.ts";

// Writes docs/errors.md anew: `pnpm errors-table`.
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
writeFileSync(`${root}/${ERROR_TABLE}`, errorTable(root));
