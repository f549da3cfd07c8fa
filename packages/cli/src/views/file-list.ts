import { type Line, span } from "./line.ts";
import { count } from "./numbers.ts";
import { table } from "./table.ts";

const shownFiles = 12;

/** A titled list of files after an empty line; nothing for none. */
export function fileListLines(title: string, files: readonly string[], width: number): Line[] {
  if (files.length === 0) return [];
  const rows = files.slice(0, shownFiles).map((file) => [[file]]);
  const rest = files.length - shownFiles;
  return [
    [],
    [span(title, "bold"), span(`  ${count(files.length)}`, "gray")],
    ...table(rows, { columns: [{ flexible: true }], width, indent: 2 }),
    ...(rest > 0 ? [[span(`  and ${count(rest)} more (--json lists them)`, "gray")]] : []),
  ];
}
