import { count, counted, usdText } from "@bonsai-agent/messages/numbers";
import { useState } from "preact/hooks";
import type { PageRequest } from "../../src/page-data.ts";
import { linkTo } from "../address.ts";
import { useShownItems } from "../long-text.tsx";
import { page } from "../page-store.ts";
import { timeText } from "../time.ts";
import { type ContextMark, marksAt, promptOf, spentUsd } from "./requests.ts";

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
      {isOpen && <Rows requests={requests} chosen={chosen} />}
    </details>
  );
}

function Rows({ requests, chosen }: RequestTableProps) {
  const { shown, more } = useShownItems(requests, { first: 100, step: 1_000, noun: " requests" });
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable element needs the keyboard */}
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
                at={at}
                isChosen={at === chosen}
                isLast={at === requests.length - 1}
              />
            ))}
          </tbody>
        </table>
      </section>
      {more}
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
  /** Text around the events. Default: none */
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
