import { readFileSync } from "node:fs";

/** Blocks as people paste them, by name, unframed unless their program frames them. */
export const pastes: Readonly<Record<string, string>> = Object.fromEntries(
  readFileSync(new URL("pastes.txt", import.meta.url), "utf8")
    .split(/^=== /m)
    .slice(1)
    .map((section) => {
      const end = section.indexOf("\n");
      return [section.slice(0, end), section.slice(end + 1, -1)];
    }),
);
