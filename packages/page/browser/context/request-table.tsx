import { count, counted, usdText } from "@bonsai-agent/messages/numbers";
import { useEffect, useState } from "preact/hooks";
import type { PageRequest } from "../../src/page-data.ts";
import { linkTo } from "../address.ts";
import { page } from "../page-store.ts";
import { timeText } from "../time.ts";
import { type ContextMark, marksAt, promptOf, spentUsd } from "./requests.ts";

const PAGE_ROWS = 25;

export interface RequestTableProps {
  requests: readonly PageRequest[];
  chosen: number;
}

/** The chart as a table. */
export function RequestTable({ requests, chosen }: RequestTableProps) {
  const [isOpen, open] = useState(false);
  return (
    <details class="all-requests" open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>Show as a table</summary>
      {isOpen && <Pages requests={requests} chosen={chosen} />}
    </details>
  );
}

function Pages({ requests, chosen }: RequestTableProps) {
  const pageOf = (at: number) => Math.floor(at / PAGE_ROWS);
  const [number, turnTo] = useState(pageOf(chosen));
  useEffect(() => turnTo(pageOf(chosen)), [chosen]);
  const last = pageOf(requests.length - 1);
  const from = Math.min(number, last) * PAGE_ROWS;
  const shown = requests.slice(from, from + PAGE_ROWS);
  return (
    <>
      <p class="pages">
        <button type="button" disabled={number <= 0} onClick={() => turnTo(number - 1)}>
          Earlier requests
        </button>
        <span aria-live="polite">
          {count(from + 1)} to {count(from + shown.length)} of {count(requests.length)}
        </span>
        <button type="button" disabled={number >= last} onClick={() => turnTo(number + 1)}>
          Later requests
        </button>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is scrolled with the keyboard, too */}
      <section class="wide" aria-label="Table of requests" tabIndex={0}>
        <table class="figures">
          <thead>
            <tr>
              {headings.map((heading) => (
                <th key={heading} scope="col">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((request, at) => (
              <RequestRow
                key={request.row}
                request={request}
                at={from + at}
                isChosen={from + at === chosen}
                isLast={from + at === requests.length - 1}
              />
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

const headings = [
  ...["Request", "Time", "Sent", "Uncached", "Cache write", "Cache read", "Output"],
  ...["Dollars", "Total dollars", "Events"],
];

interface RequestRowProps {
  request: PageRequest;
  at: number;
  isChosen: boolean;
  isLast: boolean;
}

function RequestRow({ request, at, isChosen, isLast }: RequestRowProps) {
  const { ids, times } = page.value!.rows;
  const { input, cacheWrite, cacheRead, output, costUsd, row } = request;
  const spent = spentUsd.value?.[at];
  return (
    <tr>
      <th scope="row">
        <a
          href={linkTo({ view: "context", id: ids[row]! })}
          aria-current={isChosen ? "true" : undefined}
          aria-label={`Request ${count(at + 1)}`}
        >
          {count(at + 1)}
        </a>
      </th>
      <td>{timeText(times[row]!)}</td>
      {[promptOf(request), input, cacheWrite, cacheRead, output].map((tokens, column) => (
        <td key={column}>{count(tokens)}</td>
      ))}
      <td>{costUsd === null ? "unknown" : usdText(costUsd)}</td>
      <td>{spent === undefined ? "unknown" : usdText(spent)}</td>
      <td class="happened">
        {request.isOverflow && "rejected as too large "}
        <Happened at={at} />
        {isLast && <Happened at={at + 1} before=" After this request: " />}
      </td>
    </tr>
  );
}

interface HappenedProps {
  at: number;
  /** Stands around it where something happened. Default: nothing */
  before?: string;
  after?: string;
}

/** The events between a request and the one before it. */
export function Happened({ at, before = "", after = "" }: HappenedProps) {
  const marks = (marksAt.value.get(at) ?? []).filter(({ kind }) => kind !== "overflow");
  if (marks.length === 0) return null;
  const masks = marks.filter(({ kind }) => kind === "mask").length;
  const compactions = marks.filter(({ kind }) => kind !== "mask");
  return (
    <span>
      {before}
      {compactions.map((mark, number) => (
        <span key={mark.row}>
          {number > 0 ? ", " : ""}
          <MarkText mark={mark} />
        </span>
      ))}
      {masks > 0 && `${compactions.length > 0 ? ", " : ""}${counted(masks, "message")} masked`}
      {after}
    </span>
  );
}

function MarkText({ mark: { kind, row } }: { mark: ContextMark }) {
  const id = page.value!.rows.ids[row]!;
  return (
    <a href={linkTo({ view: "compaction", id })}>
      {kind === "undone" ? "compacted (undone later)" : "compacted"}
    </a>
  );
}
