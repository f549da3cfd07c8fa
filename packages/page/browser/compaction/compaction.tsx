import { count, counted } from "@bonsai-agent/messages/numbers";
import { computed } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type MapRun, rowKinds, type SummaryBody } from "../../src/page-data.ts";
import { address, linkTo } from "../address.ts";
import { isOnBranch, isUndoneHere } from "../context/requests.ts";
import { TextInLine, useShownItems } from "../long-text.tsx";
import { Markdown } from "../markdown.tsx";
import { page, useBody } from "../page-store.ts";
import { kindName, kindTitle, rowOf } from "../session-tree.ts";
import { timeText } from "../time.ts";
import { Facts } from "../transcript/part.tsx";
import { type SummaryBlock, summaryBlocks } from "./summary-blocks.ts";

/** The address without a compaction: the latest of the branch is open. */
const ALL = "all";

/** All compactions and branch summaries, one of them open. */
export function Compaction() {
  const to = address.value;
  const id = to.view === "compaction" ? to.id : "";
  const summaries = summaryRows.value;
  const row = id === ALL ? (summaries.findLast(isOnBranch) ?? summaries.at(-1)) : rowOf.value.get(id);
  const at = row === undefined ? -1 : summaries.indexOf(row);
  return (
    <section class="compaction" aria-label="Compactions">
      <h2>Compactions and branch summaries</h2>
      {summaries.length === 0 && <p class="quiet">No compactions: the model sees the whole branch.</p>}
      <SummaryList summaries={summaries} shown={row} />
      {at >= 0 && <Opened key={row} row={row!} />}
      {id !== ALL && at < 0 && <p>This session has no compaction {id}.</p>}
    </section>
  );
}

/** On all branches, in file order. */
const summaryRows = computed(() =>
  (page.value?.rows.kinds ?? []).flatMap((kind, row) =>
    rowKinds[kind] === "compaction" || rowKinds[kind] === "branch summary" ? [row] : [],
  ),
);

const compactionAt = computed(
  () => new Map((page.value?.compactions ?? []).map((facts) => [facts.row, facts])),
);

function SummaryList({ summaries, shown }: { summaries: readonly number[]; shown: number | undefined }) {
  const list = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => {
    const current = list.current?.querySelector<HTMLElement>("[aria-current]");
    if (current) showIn(list.current!, current);
  }, [shown]);
  return (
    <ol class="summaries" ref={list}>
      {summaries.map((row) => (
        <SummaryLink key={row} row={row} isShown={row === shown} />
      ))}
    </ol>
  );
}

/** Scrolls a list alone, not the page around it. */
function showIn(list: HTMLElement, element: HTMLElement): void {
  const [outer, inner] = [list.getBoundingClientRect(), element.getBoundingClientRect()];
  if (inner.top < outer.top) list.scrollTop += inner.top - outer.top;
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
}

function SummaryLink({ row, isShown }: { row: number; isShown: boolean }) {
  const { rows } = page.value!;
  const facts = compactionAt.value.get(row);
  const after = facts?.tokensAfter === undefined ? "" : ` to ${count(facts.tokensAfter)}`;
  return (
    <li>
      <a
        href={linkTo({ view: "compaction", id: rows.ids[row]! })}
        aria-current={isShown ? "true" : undefined}
      >
        {kindTitle(row)}, {timeText(rows.times[row]!)}
        {facts === undefined ? "" : `: ${count(facts.tokensBefore)}${after} tokens`}
        {facts !== undefined && isUndoneHere(facts) ? " (undone)" : ""}
        {isOnBranch(row) ? "" : " (on another branch)"}
      </a>
    </li>
  );
}

function Opened({ row }: { row: number }) {
  const body = useBody(row);
  const { ids, times } = page.value!.rows;
  const facts = compactionAt.value.get(row);
  if (body === undefined) return <p class="loading">Loading…</p>;
  const { summary } = body;
  if (summary === undefined) return <p>This summary cannot be read.</p>;
  return (
    <article aria-label="Details">
      <h3>Details</h3>
      <Facts rows={[["When", timeText(times[row]!)], ...summary.facts]} />
      {facts !== undefined && isUndoneHere(facts) && (
        <p>This compaction was undone: the model sees the original messages again.</p>
      )}
      <p>
        <a href={linkTo({ view: "entry", id: ids[row]! })}>Show in the transcript</a>
      </p>
      {summary.before.length > 0 && <ContextMap summary={summary} />}
      <Loss summary={summary} />
      <Sources summary={summary} />
    </article>
  );
}

function ContextMap({ summary: { before, after } }: { summary: SummaryBody }) {
  const [chosen, choose] = useState<MapRun>();
  const widest = Math.max(total(before), total(after), 1);
  return (
    <>
      <h3>Before and after</h3>
      <Strip name="Before" runs={before} widest={widest} chosen={chosen} onChoose={choose} />
      <Strip name="After" runs={after} widest={widest} chosen={chosen} onChoose={choose} />
      <p class="quiet">
        Click a part to list its messages. Counts are estimates without instructions and tools.
      </p>
      {chosen !== undefined && <RunRows key={`${chosen.fate} ${chosen.rows[0]}`} run={chosen} />}
      <FateTable before={before} after={after} />
    </>
  );
}

const fates = ["summarised", "masked", "kept", "summary"] as const;

interface StripProps {
  name: string;
  runs: readonly MapRun[];
  widest: number;
  chosen: MapRun | undefined;
  onChoose: (run: MapRun) => void;
}

function Strip({ name, runs, widest, chosen, onChoose }: StripProps) {
  return (
    <div class="strip">
      <h4>
        {name}: {count(total(runs))} tokens in messages
      </h4>
      <ol>
        {runs.map((run, at) => (
          <li key={at} style={{ width: `${Math.max(0.4, (run.tokens / widest) * 100)}%` }}>
            <button
              type="button"
              class={run.fate}
              aria-pressed={run === chosen}
              title={runText(run)}
              onClick={() => onChoose(run)}
            >
              <span>{run.tokens / widest > 0.08 ? run.fate : ""}</span>
              <span class="hidden">{runText(run)}</span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}

function FateTable({ before, after }: { before: readonly MapRun[]; after: readonly MapRun[] }) {
  const rows = fates
    .map((fate) => ({ fate, before: sumOf(before, fate), after: sumOf(after, fate) }))
    .filter((row) => row.before.messages + row.after.messages > 0);
  return (
    <table class="totals figures">
      <thead>
        <tr>
          <th scope="col">Messages</th>
          <th scope="col">Count before</th>
          <th scope="col">after</th>
          <th scope="col">Tokens before</th>
          <th scope="col">after</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ fate, before: was, after: is }) => (
          <tr key={fate}>
            <th scope="row">
              <span class={`swatch ${fate}`} /> {fate}
            </th>
            {[was.messages, is.messages, was.tokens, is.tokens].map((number, column) => (
              <td key={column}>{count(number)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function RunRows({ run }: { run: MapRun }) {
  const { ids, previews } = page.value!.rows;
  const rows = run.rows.filter((row) => row >= 0);
  const { shown, more } = useShownItems(rows, { first: 200, step: 1_000 });
  return (
    <div class="run">
      <h4>{runText(run)}</h4>
      <ul>
        {shown.map((row) => (
          <li key={row}>
            <a href={linkTo({ view: "entry", id: ids[row]! })}>
              <span class="kind">{kindName(row)}</span> {previews[row]!.replace(/^#+ /, "")}
            </a>
          </li>
        ))}
      </ul>
      {more}
    </div>
  );
}

function runText(run: MapRun): string {
  return `${run.fate}: ${counted(run.rows.length, "message")}, ${counted(run.tokens, "token")}`;
}

function total(runs: readonly MapRun[]): number {
  return runs.reduce((sum, { tokens }) => sum + tokens, 0);
}

function sumOf(runs: readonly MapRun[], fate: MapRun["fate"]): { messages: number; tokens: number } {
  const own = runs.filter((run) => run.fate === fate);
  return { messages: own.reduce((sum, { rows }) => sum + rows.length, 0), tokens: total(own) };
}

function Loss({ summary: { loss } }: { summary: SummaryBody }) {
  return (
    <>
      <h3>Loss check</h3>
      {loss.length === 0 && <p class="quiet">No loss check was recorded for this summary.</p>}
      {loss.map(({ text, rows }, at) => (
        <p key={at}>
          <TextInLine text={text} /> <Rows rows={rows} />
        </p>
      ))}
    </>
  );
}

function Sources({ summary: { lines } }: { summary: SummaryBody }) {
  const { shown, more } = useShownItems(lines, { first: 1_000, step: 1_000, noun: " lines" });
  return (
    <>
      <h3>Summary with its sources</h3>
      <ol class="lines">
        {summaryBlocks(shown).map((block, at) => (
          <li key={at} style={{ marginLeft: `${Math.min(block.indent, MAX_INDENT) / 2}em` }}>
            <Markdown text={withoutIds(block)} isOpen={false} />
            <Rows rows={block.rows} isMatched={block.isMatched} />
          </li>
        ))}
      </ol>
      {more}
    </>
  );
}

const MAX_INDENT = 12;

/** Without the ids of the entries that its links lead to. */
function withoutIds({ text, rows }: SummaryBlock): string {
  const { ids } = page.value!.rows;
  return text.replace(/ ?\[([\w-]{4,})\]/g, (named, id: string) =>
    rows.some((row) => ids[row]!.startsWith(id)) ? "" : named,
  );
}

const MAX_NAMED = 8;

function Rows({ rows, isMatched = false }: { rows: readonly number[]; isMatched?: boolean }) {
  const { ids, previews } = page.value!.rows;
  if (rows.length === 0) return null;
  return (
    <span class={isMatched ? "sources matched" : "sources"}>
      {rows.slice(0, MAX_NAMED).map((row) => (
        <a key={row} href={linkTo({ view: "entry", id: ids[row]! })} title={previews[row]}>
          {kindName(row)} {ids[row]!.slice(0, 8)}
        </a>
      ))}
      {rows.length > MAX_NAMED && <span> and {count(rows.length - MAX_NAMED)} more</span>}
      {isMatched && <span class="quiet"> (matched by words)</span>}
    </span>
  );
}
