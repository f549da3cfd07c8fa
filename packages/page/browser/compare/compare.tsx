import { count, counted, lineText, usdText } from "@bonsai-agent/messages/numbers";
import { useEffect, useState } from "preact/hooks";
import { type ComparedSide, type Comparison, compareRows, sidesOf } from "../../src/compare.ts";
import { address, go, linkTo } from "../address.ts";
import { body, page } from "../page-store.ts";
import { branchEnds, hereRow, kindName, labelOf, rowOf, spokenAt } from "../session-tree.ts";

/** Two entries side by side: what was done on the way to each since they parted. */
export function Compare() {
  const to = address.value;
  const [idA, idB] = to.view === "compare" ? [to.a, to.b] : [];
  const { rows } = page.value!;
  const ends = branchEnds.value;
  const position = orNone(hereRow.value);
  const a = idA === undefined ? ends.find((row) => row !== position) : rowOf.value.get(idA);
  const b = idB === undefined ? position : rowOf.value.get(idB);
  const choose = (side: "a" | "b", row: number) => {
    const ids = { a: rows.ids[a ?? -1], b: rows.ids[b ?? -1], [side]: rows.ids[row] };
    go({
      view: "compare",
      ...(ids.a !== undefined && { a: ids.a }),
      ...(ids.b !== undefined && { b: ids.b }),
    });
  };
  return (
    <section class="compare" aria-label="Compare two entries">
      <h2>Compare two entries</h2>
      {(ends.length > 1 || idA !== undefined) && (
        <div class="choice">
          <EndChoice name="A" value={a} ends={ends} onChoose={(row) => choose("a", row)} />
          <EndChoice name="B" value={b} ends={ends} onChoose={(row) => choose("b", row)} />
        </div>
      )}
      {ends.length < 2 && <p>This session has one branch.</p>}
      <p class="quiet">
        To compare other entries, choose them in the <a href={linkTo({ view: "tree" })}>tree</a>.
      </p>
      {a !== undefined && b !== undefined && <Compared a={a} b={b} />}
    </section>
  );
}

function orNone(row: number): number | undefined {
  return row < 0 ? undefined : row;
}

interface EndChoiceProps {
  name: string;
  value: number | undefined;
  ends: readonly number[];
  onChoose: (row: number) => void;
}

function EndChoice({ name, value, ends, onChoose }: EndChoiceProps) {
  const offered = ends.slice(0, MOST_ENDS);
  const all = value === undefined || offered.includes(value) ? offered : [value, ...offered];
  return (
    <label>
      {name}{" "}
      <select value={value ?? -1} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
        {value === undefined && <option value={-1}>choose</option>}
        {all.map((row) => (
          <option key={row} value={row}>
            {nameOf(row)}
          </option>
        ))}
      </select>
    </label>
  );
}

const MOST_ENDS = 500;

function nameOf(row: number): string {
  const { previews } = page.value!.rows;
  const label = labelOf.value.get(row);
  const text = previews[row]!;
  return `${label === undefined ? "" : `[${label}] `}${kindName(row)}${text === "" ? "" : `: ${text}`}`;
}

function Compared({ a, b }: { a: number; b: number }) {
  const [result, setResult] = useState<Comparison | "unread">();
  useEffect(() => {
    let isWanted = true;
    setResult(undefined);
    compared(a, b).then(
      (found) => isWanted && setResult(found),
      () => isWanted && setResult("unread"),
    );
    return () => {
      isWanted = false;
    };
  }, [a, b]);
  if (result === undefined) return <p class="loading">Loading both sides…</p>;
  if (result === "unread") return <p class="failed">Cannot compare: some entries could not be read.</p>;
  const { ids } = page.value!.rows;
  const { commonAncestor, commonEntries, sharedFiles } = result;
  return (
    <>
      <p>
        {relations[result.relation]}{" "}
        {commonAncestor >= 0 && (
          <>
            They share {counted(commonEntries, "entry", "entries")}, up to{" "}
            <a href={linkTo({ view: "entry", id: ids[commonAncestor]! })}>
              {nameOf(orNone(spokenAt(commonAncestor)) ?? commonAncestor)}
            </a>
            .
          </>
        )}
      </p>
      {sharedFiles.length > 0 && (
        <p class="shared">
          Files used on both sides:{" "}
          {sharedFiles.map((file) => (
            <code key={file}>{file}</code>
          ))}
        </p>
      )}
      <div class="sides">
        <Side name="A" row={a} side={result.a} />
        <Side name="B" row={b} side={result.b} />
      </div>
    </>
  );
}

const relations: Readonly<Record<Comparison["relation"], string>> = {
  same: "A and B are the same entry.",
  ahead: "A continues B.",
  behind: "B continues A.",
  parted: "A and B are on different branches.",
  unrelated: "A and B share no entries.",
};

async function compared(a: number, b: number): Promise<Comparison> {
  const data = page.peek()!;
  const sides = sidesOf(data.rows.parents, a, b);
  const bodies = new Map<number, Awaited<ReturnType<typeof body>>>();
  for (const row of [...sides.a, ...sides.b]) bodies.set(row, await body(row));
  return compareRows(data, a, b, bodies);
}

function Side({ name, row, side }: { name: string; row: number; side: ComparedSide }) {
  const { ids } = page.value!.rows;
  return (
    <article aria-label={`Side ${name}`}>
      <h3>
        {name}: <a href={linkTo({ view: "entry", id: ids[row]! })}>{nameOf(row)}</a>
      </h3>
      <p>
        {counted(side.rows.length, "entry", "entries")}, {counted(side.turns, "turn")},{" "}
        {counted(side.compactions.length, "compaction")},{" "}
        {side.isCostWhole ? usdText(side.costUsd) : `at least ${usdText(side.costUsd)}`}
      </p>
      <Files name="Created" files={side.created} />
      <Files name="Modified" files={side.modified} />
      <Files name="Read" files={side.read} />
      {side.commands.length > 0 && <h4>Commands</h4>}
      <ul class="commands">
        {side.commands.slice(-MOST_COMMANDS).map(({ text, state, row: at }) => (
          <li key={at}>
            <span class={state === "passed" ? "passed" : "failed"}>{state}</span>{" "}
            <a href={linkTo({ view: "entry", id: ids[at]! })}>
              <code>{lineText([{ text }], MAX_COMMAND_CHARS)}</code>
            </a>
          </li>
        ))}
      </ul>
      <RowList name="User messages" rows={side.words} />
      <RowList name="Last answer" rows={side.lastAnswer < 0 ? [] : [side.lastAnswer]} />
      <RowList name="Branch summaries" rows={side.branchSummaries} />
    </article>
  );
}

const MOST_COMMANDS = 50;
/** Of files and of what was said. */
const MOST_LISTED = 300;
/** The rest stands in its entry. */
const MAX_COMMAND_CHARS = 1_000;

function Files({ name, files }: { name: string; files: readonly string[] }) {
  if (files.length === 0) return null;
  return (
    <>
      <h4>
        {name} <span class="quiet">{count(files.length)}</span>
      </h4>
      <ul>
        {files.slice(0, MOST_LISTED).map((file) => (
          <li key={file}>
            <code>{file}</code>
          </li>
        ))}
      </ul>
    </>
  );
}

function RowList({ name, rows }: { name: string; rows: readonly number[] }) {
  const { ids, previews } = page.value!.rows;
  if (rows.length === 0) return null;
  return (
    <>
      <h4>
        {name}{" "}
        {rows.length > MOST_LISTED && (
          <span class="quiet">
            the last {MOST_LISTED} of {count(rows.length)}
          </span>
        )}
      </h4>
      <ul>
        {rows.slice(-MOST_LISTED).map((row) => (
          <li key={row}>
            <a href={linkTo({ view: "entry", id: ids[row]! })}>{previews[row] || kindName(row)}</a>
          </li>
        ))}
      </ul>
    </>
  );
}
