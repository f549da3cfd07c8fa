import { shortTokens, usdText } from "@bonsai-agent/messages/numbers";
import { memo } from "preact/compat";
import type { BodyPart } from "../../src/page-data.ts";
import { address, linkTo } from "../address.ts";
import { useShownItems } from "../long-text.tsx";
import { page, useBody } from "../page-store.ts";
import { hasFlag, kindOf, kindTitle, labelOf, maskOf, requestOf } from "../session-tree.ts";
import { timeIso, timeText } from "../time.ts";
import { hits, query } from "./find.ts";
import { Facts, Folded, Part } from "./part.tsx";

/** One entry of the transcript. */
export const Entry = memo(({ row }: { row: number }) => {
  const kind = kindOf(row);
  const { ids } = page.value!.rows;
  const id = ids[row]!;
  const to = address.value;
  const isAddressed = to.view === "entry" && to.id === id;
  return (
    <article
      class={`entry ${kind.replace(" ", "-")}${isAddressed ? " addressed" : ""}`}
      aria-label={kindTitle(row)}
      data-row={row}
    >
      <Head row={row} />
      <Body row={row} />
    </article>
  );
});

function Head({ row }: { row: number }) {
  const { ids, times } = page.value!.rows;
  const id = ids[row]!;
  const label = labelOf.value.get(row);
  const request = requestOf.value.get(row);
  return (
    <header>
      <h2>{kindTitle(row)}</h2>
      {label !== undefined && <span class="label">{label}</span>}
      {hasFlag(row, "failed") && <span class="failed">failed</span>}
      {request !== undefined && (
        <a class="quiet" href={linkTo({ view: "context", id })}>
          {shortTokens(request.input + request.cacheRead + request.cacheWrite)} tokens
          {request.costUsd === null ? "" : `, ${usdText(request.costUsd)}`}
        </a>
      )}
      <Masked row={row} />
      <a class="quiet address" href={linkTo({ view: "entry", id })} title="Permanent link to this entry">
        <time dateTime={timeIso(times[row]!)}>{timeText(times[row]!) || "no time"}</time>
      </a>
    </header>
  );
}

function Masked({ row }: { row: number }) {
  const mask = maskOf.value.get(row);
  if (mask === undefined) return null;
  const { ids, times } = page.value!.rows;
  const since = timeText(times[mask]!);
  return (
    <a class="masked" href={linkTo({ view: "entry", id: ids[mask]! })}>
      {hasFlag(mask, "omits") ? "hidden from the model" : "masked for the model"}
      {since !== "" && ` since ${since}`}
    </a>
  );
}

function Body({ row }: { row: number }) {
  const body = useBody(row);
  const isOpen = query.value !== "" && hits.value.has(row);
  const { previews, ids } = page.value!.rows;
  const kind = kindOf(row);
  if (body === undefined) return <p class="loading">{previews[row]}</p>;
  if (kind === "compaction" || kind === "branch summary") {
    const { facts = [], loss = [] } = body.summary ?? {};
    return (
      <div class="body">
        <Facts rows={facts.filter(([name]) => shortFacts.includes(name))} />
        {loss.map(({ text }) => (
          <p key={text}>{text}</p>
        ))}
        <Folded title="Summary" name={`${row}`} isOpen={isOpen} kind="summary">
          <Parts row={row} parts={body.parts} isOpen={isOpen} />
        </Folded>
        <p>
          <a href={linkTo({ view: "compaction", id: ids[row]! })}>Show the summary with its sources</a>
        </p>
      </div>
    );
  }
  return (
    <div class="body">
      <Parts row={row} parts={body.parts} isOpen={isOpen} />
      {body.parts.length === 0 && <p class="quiet">{previews[row] || "Empty entry."}</p>}
    </div>
  );
}

/** Parts of an entry that are drawn at once. */
const PARTS_SHOWN = 200;

function Parts({ row, parts, isOpen }: { row: number; parts: readonly BodyPart[]; isOpen: boolean }) {
  const { shown, more } = useShownItems(parts, { first: PARTS_SHOWN, step: PARTS_SHOWN, noun: " parts" });
  return (
    <>
      {shown.map((part, at) => (
        <Part key={at} part={part} name={`${row}/${at}`} isOpen={isOpen} />
      ))}
      {more}
    </>
  );
}

const shortFacts = ["Why", "Decided by", "Before", "After", "Cost"];
