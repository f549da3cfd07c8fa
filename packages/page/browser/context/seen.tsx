import { count, counted, percent } from "@bonsai-agent/messages/numbers";
import { useState } from "preact/hooks";
import type { PageRequest } from "../../src/page-data.ts";
import { type ViewRow, viewRows } from "../../src/paths.ts";
import { linkTo } from "../address.ts";
import { page } from "../page-store.ts";
import { kindName, kindOf } from "../session-tree.ts";

/** So many lines of what the model saw are drawn at first, and so many more each time that somebody asks. */
const ROWS_SHOWN = 60;
const MORE_ROWS = 500;

interface SeenRow extends ViewRow {
  tokens: number;
}

/** What the model saw at a request, with the share of each part. */
export function Seen({ request }: { request: PageRequest }) {
  const [isBySize, sortBySize] = useState(true);
  const [more, showMore] = useState({ request, rows: 0 });
  const seen = seenRows(request);
  const tokens = seen.reduce((sum, each) => sum + each.tokens, 0);
  const highest = seen.reduce((most, each) => Math.max(most, each.tokens), 1);
  const masked = seen.filter(({ isMasked }) => isMasked).length;
  const ordered = isBySize ? seen.toSorted((a, b) => b.tokens - a.tokens || a.row - b.row) : seen;
  const most = ROWS_SHOWN + (more.request === request ? more.rows : 0);
  const left = ordered.length - most;
  return (
    <>
      <h3>Context of this request</h3>
      <p class="quiet">
        {counted(seen.length, "message")}, about {count(tokens)} tokens
        {masked > 0 && `, ${count(masked)} masked`}. Counts are estimates without instructions and tools.
      </p>
      <p class="order">
        <button type="button" aria-pressed={isBySize} onClick={() => sortBySize(true)}>
          Largest first
        </button>
        <button type="button" aria-pressed={!isBySize} onClick={() => sortBySize(false)}>
          Oldest first
        </button>
      </p>
      <ol class="seen">
        {ordered.slice(0, most).map((each) => (
          <SeenLine key={each.row} seen={each} all={tokens} highest={highest} />
        ))}
      </ol>
      {left > 0 && (
        <button type="button" onClick={() => showMore({ request, rows: most - ROWS_SHOWN + MORE_ROWS })}>
          Show {count(Math.min(left, MORE_ROWS))} more of {count(left)}
        </button>
      )}
    </>
  );
}

function seenRows(request: PageRequest): SeenRow[] {
  const data = page.value!;
  const path = pathFrom(data.rows.parents, request);
  return viewRows(data, path, request.view).map((each) => ({
    ...each,
    tokens: each.isMasked ? 0 : data.rows.tokens[each.row]!,
  }));
}

/** The end of the path to a request, from what it saw first: what stands above is not looked at. */
function pathFrom(parents: readonly number[], { row, view }: PageRequest): number[] {
  const path: number[] = [];
  for (let at = parents[row] ?? -1; at >= 0; at = at === view.from ? -1 : (parents[at] ?? -1)) path.push(at);
  return path.reverse();
}

function SeenLine({ seen, all, highest }: { seen: SeenRow; all: number; highest: number }) {
  const { ids, previews } = page.value!.rows;
  const { row, isMasked, tokens } = seen;
  const kind = kindOf(row);
  const id = ids[row]!;
  return (
    <li class={isMasked ? "is-masked" : ""}>
      <span class="share" aria-hidden="true">
        {tokens > 0 && <span style={{ width: `${((100 * tokens) / highest).toFixed(1)}%` }} />}
      </span>
      <span class="size">{isMasked ? "masked" : `${count(tokens)} · ${percent(tokens, all)}`}</span>
      <a href={linkTo(kind === "compaction" ? { view: "compaction", id } : { view: "entry", id })}>
        <span class="kind">{kindName(row)}</span> {previews[row]}
      </a>
    </li>
  );
}
