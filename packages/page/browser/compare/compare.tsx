import { count, counted, usdText } from "@bonsai-agent/messages/numbers";
import { useEffect, useState } from "preact/hooks";
import type { ComparedSide, Comparison } from "../../src/page-data.ts";
import { address, go, linkTo } from "../address.ts";
import { comparison, page } from "../page-store.ts";
import { hereRow, kindName, labelOf, rowOf, spokenAt } from "../session-tree.ts";

/** Another branch and the session's position side by side: the work on each since they parted. */
export function Compare() {
  const to = address.value;
  const { rows, compared } = page.value!;
  const named = to.view === "compare" && to.id !== undefined ? rowOf.value.get(to.id) : compared[0];
  const end = named !== undefined && compared.includes(named) ? named : undefined;
  return (
    <section class="compare" aria-label="Compare branches">
      <h2>Compare branches</h2>
      {compared.length === 0 ? (
        <p>This session has one branch.</p>
      ) : (
        <p class="choice">
          <label>
            A{" "}
            <select
              value={end ?? -1}
              onChange={(event) => go({ view: "compare", id: rows.ids[Number(event.currentTarget.value)]! })}
            >
              {end === undefined && <option value={-1}>choose</option>}
              {compared.map((row) => (
                <option key={row} value={row}>
                  {nameOf(row)}
                </option>
              ))}
            </select>
          </label>{" "}
          B is the session's current position.
        </p>
      )}
      {end !== undefined && <Compared end={end} />}
    </section>
  );
}

function nameOf(row: number): string {
  const { previews } = page.value!.rows;
  const label = labelOf.value.get(row);
  const text = previews[row]!;
  return `${label === undefined ? "" : `[${label}] `}${kindName(row)}${text === "" ? "" : `: ${text}`}`;
}

function Compared({ end }: { end: number }) {
  const [result, setResult] = useState<Comparison | "unread">();
  useEffect(() => {
    let isWanted = true;
    setResult(undefined);
    comparison(end).then(
      (found) => isWanted && setResult(found),
      () => isWanted && setResult("unread"),
    );
    return () => {
      isWanted = false;
    };
  }, [end, page.value]);
  if (result === undefined) return <p class="loading">Loading both sides…</p>;
  if (result === "unread") return <p class="failed">Cannot compare: the comparison could not be read.</p>;
  const { ids } = page.value!.rows;
  const { commonAncestor, commonEntries, sharedFiles } = result;
  const spoken = spokenAt(commonAncestor);
  return (
    <>
      <p>
        {relations[result.relation]}{" "}
        {commonAncestor >= 0 && (
          <>
            They share {counted(commonEntries, "entry", "entries")}, up to{" "}
            <a href={linkTo({ view: "entry", id: ids[commonAncestor]! })}>
              {nameOf(spoken < 0 ? commonAncestor : spoken)}
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
        <Side name="A" row={end} side={result.a} />
        <Side name="B" row={hereRow.value} side={result.b} />
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

function Side({ name, row, side }: { name: string; row: number; side: ComparedSide }) {
  const { ids } = page.value!.rows;
  const [created, modified, read] = side.files;
  return (
    <article aria-label={`Side ${name}`}>
      <h3>
        {name}: <a href={linkTo({ view: "entry", id: ids[row]! })}>{nameOf(row)}</a>
      </h3>
      <p>
        {counted(side.entries, "entry", "entries")}, {counted(side.turns, "turn")},{" "}
        {counted(side.compactions, "compaction")},{" "}
        {side.isCostWhole ? usdText(side.costUsd) : `at least ${usdText(side.costUsd)}`}
      </p>
      <Files name="Created" files={created!} />
      <Files name="Modified" files={modified!} />
      <Files name="Read" files={read!} />
      {side.commands.length > 0 && <h4>Commands</h4>}
      <ul class="commands">
        {side.commands.map(({ text, state, row: at }) => (
          <li key={at}>
            <span class={state === "passed" ? "passed" : "failed"}>{state}</span>{" "}
            <a href={linkTo({ view: "entry", id: ids[at]! })}>
              <code>{text}</code>
            </a>
          </li>
        ))}
      </ul>
      <RowList name="User messages" rows={side.words} />
      <RowList name="Last answer" rows={side.lastAnswer} />
      <RowList name="Branch summaries" rows={side.branchSummaries} />
    </article>
  );
}

function Files({ name, files }: { name: string; files: ComparedSide["files"][number] }) {
  if (files.count === 0) return null;
  return (
    <>
      <h4>
        {name} <span class="quiet">{count(files.count)}</span>
      </h4>
      <ul>
        {files.names.map((file) => (
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
      <h4>{name}</h4>
      <ul>
        {rows.map((row) => (
          <li key={row}>
            <a href={linkTo({ view: "entry", id: ids[row]! })}>{previews[row] || kindName(row)}</a>
          </li>
        ))}
      </ul>
    </>
  );
}
