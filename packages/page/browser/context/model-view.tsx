import { count, counted, percent } from "@bonsai-agent/messages/numbers";
import { useState } from "preact/hooks";
import type { PageRequest } from "../../src/page-data.ts";
import { type ViewRow, viewRows } from "../../src/paths.ts";
import { linkTo } from "../address.ts";
import { useShownItems } from "../long-text.tsx";
import { page } from "../page-store.ts";
import { kindName, kindOf } from "../session-tree.ts";

interface SeenRow extends ViewRow {
  tokens: number;
}

/** The model's context at a request, with the share of each part. */
export function ModelView({ request }: { request: PageRequest }) {
  const [isBySize, sortBySize] = useState(true);
  const seen = seenRows(request);
  const tokens = seen.reduce((sum, each) => sum + each.tokens, 0);
  const highest = seen.reduce((most, each) => Math.max(most, each.tokens), 1);
  const masked = seen.filter(({ isMasked }) => isMasked).length;
  const ordered = isBySize ? seen.toSorted((a, b) => b.tokens - a.tokens || a.row - b.row) : seen;
  const { shown, more } = useShownItems(ordered, { first: 60, step: 500 });
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
        {shown.map((each) => (
          <SeenLine key={each.row} seen={each} all={tokens} highest={highest} />
        ))}
      </ol>
      {more}
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

/** The path to a request, from the first row in view. */
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
