import { computed } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { PageRequest } from "../../src/page-data.ts";
import { type ViewRow, viewRows } from "../../src/view.ts";
import { address, go, linkTo } from "../address.ts";
import { digits, dollars, timeText } from "../numbers.ts";
import { page } from "../page-store.ts";
import { kindOf, pathTo, rowOf, shownPath } from "../session-tree.ts";
import { Chart } from "./chart.tsx";
import { type PriceClass, priceClasses } from "./price-classes.ts";

/** The requests of the branch that is shown that a model has counted. */
export const branchRequests = computed(() => {
  const on = new Set(shownPath.value);
  return (page.value?.requests ?? []).filter(
    (request) => on.has(request.row) && (promptOf(request) > 0 || request.isOverflow === true),
  );
});

export function promptOf({ input, cacheRead, cacheWrite }: PageRequest): number {
  return input + cacheRead + cacheWrite;
}

/** The context over time, and what the model saw at one step of it. */
export function Context() {
  const requests = branchRequests.value;
  const to = address.value;
  const named = "id" in to && to.id !== undefined ? rowOf.value.get(to.id) : undefined;
  const at = requests.findIndex(({ row }) => row === named);
  const [chosen, choose] = useState(at < 0 ? requests.length - 1 : at);
  useEffect(() => {
    if (at >= 0) choose(at);
  }, [at]);
  const request = requests[Math.min(chosen, requests.length - 1)];
  if (request === undefined)
    return (
      <section class="context" aria-label="Context over time">
        <h2>Context over time</h2>
        <p class="quiet">No request of this branch says how many tokens it had.</p>
      </section>
    );
  const index = requests.indexOf(request);
  const stepTo = (next: number) => {
    const other = requests[Math.max(0, Math.min(requests.length - 1, next))];
    if (other !== undefined) go({ view: "context", id: page.peek()!.rows.ids[other.row]! });
  };
  return (
    <section class="context" aria-label="Context over time">
      <h2>Context over time</h2>
      <Totals requests={requests} />
      <Chart requests={requests} chosen={index} onChoose={stepTo} />
      <Step request={request} index={index} count={requests.length} onStep={stepTo} />
      <Seen request={request} />
    </section>
  );
}

function Totals({ requests }: { requests: readonly PageRequest[] }) {
  const sum = (name: PriceClass["name"]) => requests.reduce((all, request) => all + request[name], 0);
  const cost = (name: PriceClass["name"]) =>
    requests.reduce((all, { costs }) => all + (costs?.[name] ?? 0), 0);
  const hasCosts = requests.some(({ costs }) => costs !== undefined);
  return (
    <table class="totals">
      <caption>Tokens of {digits(requests.length)} requests by price class</caption>
      <thead>
        <tr>
          <th scope="col">Class</th>
          <th scope="col">Tokens</th>
          {hasCosts && <th scope="col">Dollars</th>}
        </tr>
      </thead>
      <tbody>
        {priceClasses.map(({ name, label }) => (
          <tr key={name}>
            <th scope="row">
              <span class={`swatch ${name}`} /> {label}
            </th>
            <td>{digits(sum(name))}</td>
            {hasCosts && <td>{dollars(cost(name))}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface StepProps {
  request: PageRequest;
  index: number;
  count: number;
  onStep: (index: number) => void;
}

function Step({ request, index, count, onStep }: StepProps) {
  const { rows, models } = page.value!;
  const model = models[request.model];
  return (
    <div class="step">
      <button type="button" onClick={() => onStep(index - 1)} disabled={index === 0}>
        Previous request
      </button>
      <p aria-live="polite">
        Request {digits(index + 1)} of {digits(count)}, {timeText(rows.times[request.row]!)},{" "}
        {model === undefined ? "" : `${model.provider}/${model.id}`}: {digits(promptOf(request))} tokens sent
        ({digits(request.input)} fresh, {digits(request.cacheWrite)} cache written,{" "}
        {digits(request.cacheRead)} cache read), {digits(request.output)} answered
        {request.costUsd === null ? "" : `, ${dollars(request.costUsd)}`}
        {request.isOverflow ? "; refused for its size" : ""}.{" "}
        <a href={linkTo({ view: "entry", id: rows.ids[request.row]! })}>Show the answer</a>
      </p>
      <button type="button" onClick={() => onStep(index + 1)} disabled={index === count - 1}>
        Next request
      </button>
    </div>
  );
}

/** So many lines of what the model saw are drawn before somebody asks for more. */
const ROWS_SHOWN = 200;

function Seen({ request }: { request: PageRequest }) {
  const [isWhole, showWhole] = useState(false);
  const data = page.value!;
  const parent = data.rows.parents[request.row]!;
  const seen = viewRows(data, pathTo(parent), request.view);
  const tokens = seen.reduce((sum, { row, isMasked }) => sum + (isMasked ? 0 : data.rows.tokens[row]!), 0);
  const shown = isWhole ? seen : seen.slice(-ROWS_SHOWN);
  return (
    <>
      <h3>What the model saw then</h3>
      <p class="quiet">
        {digits(seen.length)} messages beside the instructions and the tools, the latest last. Shares are
        estimates.
      </p>
      {shown.length < seen.length && (
        <button type="button" onClick={() => showWhole(true)}>
          Show the {digits(seen.length - shown.length)} before them
        </button>
      )}
      <ol class="seen">
        {shown.map((each) => (
          <SeenRow key={each.row} seen={each} tokens={tokens} />
        ))}
      </ol>
    </>
  );
}

function SeenRow({ seen: { row, isMasked }, tokens }: { seen: ViewRow; tokens: number }) {
  const { ids, previews, tokens: sizes } = page.value!.rows;
  const share = isMasked ? 0 : sizes[row]! / Math.max(1, tokens);
  const kind = kindOf(row);
  const id = ids[row]!;
  return (
    <li class={isMasked ? "is-masked" : ""}>
      <span class="share" aria-hidden="true">
        <span style={{ width: `${(share * 100).toFixed(1)}%` }} />
      </span>
      <span class="size">{isMasked ? "masked" : digits(sizes[row]!)}</span>
      <a href={linkTo(kind === "compaction" ? { view: "compaction", id } : { view: "entry", id })}>
        <span class="kind">{kind}</span> {previews[row]}
      </a>
    </li>
  );
}
