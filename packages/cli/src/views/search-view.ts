import type { SearchHit } from "@bonsai-agent/session";
import { kindWord } from "../preview.ts";
import { type Line, span } from "./line.ts";
import { counted } from "./numbers.ts";
import { oneLine } from "./printable.ts";
import { kindStyle } from "./role-colour.ts";
import { table } from "./table.ts";

export interface SearchViewOptions {
  hits: readonly SearchHit[];
  query: string;
  /** True when the limit cut hits off. */
  more: boolean;
  width: number;
}

/** Hits, one a line; a filled dot marks those on the active branch. */
export function searchView({ hits, query, more, width }: SearchViewOptions): Line[] {
  if (hits.length === 0) return [[`Nothing matches ${JSON.stringify(query)}.`]];
  const rows = hits.map((hit): Line[] => {
    const kind = kindWord(hit.role ?? hit.type);
    const place = hit.onActivePath ? span("●", "green") : span("○", "gray");
    return [[span(hit.entryId, "gray")], [place], [span(kind, kindStyle(kind))], [oneLine(hit.snippet)]];
  });
  const found = span(counted(hits.length, "hit"), "bold");
  return [
    ...table(rows, { columns: [{}, {}, {}, { flexible: true }], width }),
    [],
    [found, more ? span("  and more (--limit shows them)", "gray") : ""],
  ];
}
