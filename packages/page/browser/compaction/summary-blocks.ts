import type { SummaryBody } from "../../src/page-data.ts";

type SummaryLine = SummaryBody["lines"][number];

/** Lines of a summary that make one piece of Markdown, with the sources of all of them. */
export interface SummaryBlock {
  /** Markdown, without the indentation of its first line. */
  text: string;
  /** Characters that the first line is indented by. */
  indent: number;
  rows: number[];
  isMatched: boolean;
}

/** A heading, a paragraph, an item of a list, a table or a block of code each make one block. */
export function summaryBlocks(lines: readonly SummaryLine[]): SummaryBlock[] {
  const blocks: SummaryBlock[] = [];
  let open: SummaryBlock | undefined;
  let fence: string | undefined;
  for (const line of lines) {
    const { text, rows, isMatched, isHeading } = line;
    const isFenced = fence !== undefined;
    fence = fenceAfter(text, fence);
    if (!isFenced && text.trim() === "") {
      open = undefined;
      continue;
    }
    if (open === undefined || (!isFenced && beginsBlock(line, open))) {
      const indent = text.search(/\S|$/);
      const shown = isHeading ? `#### ${text}` : text.slice(indent);
      open = { text: shown, indent, rows: [...rows], isMatched };
      blocks.push(open);
    } else {
      open.text += `\n${text.slice(Math.min(open.indent, text.search(/\S|$/)))}`;
      for (const row of rows) if (!open.rows.includes(row)) open.rows.push(row);
      open.isMatched ||= isMatched;
    }
    if (isHeading) open = undefined;
  }
  return blocks;
}

const ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s/;

function beginsBlock({ text, rows, isHeading }: SummaryLine, open: SummaryBlock): boolean {
  if (isHeading || ITEM.test(text)) return true;
  if (text.startsWith("|") && open.text.startsWith("|")) return false;
  // A line with sources of its own, as in a list of files.
  return !/^\s/.test(text) && rows.length > 0 && rows.join() !== open.rows.join();
}

/** The fence that is open after a line. */
function fenceAfter(text: string, open: string | undefined): string | undefined {
  const [, fence] = /^\s*(`{3,}|~{3,})/.exec(text) ?? [];
  if (fence === undefined) return open;
  if (open === undefined) return fence;
  return fence.startsWith(open) ? undefined : open;
}
