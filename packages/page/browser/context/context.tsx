import { count, counted, usdText } from "@bonsai-agent/messages/numbers";
import { useState } from "preact/hooks";
import type { PageRequest } from "../../src/page-data.ts";
import { address, linkTo } from "../address.ts";
import { page } from "../page-store.ts";
import { rowOf } from "../session-tree.ts";
import { timeText } from "../time.ts";
import { Chart } from "./chart.tsx";
import { ModelView } from "./model-view.tsx";
import { Happened, RequestTable } from "./request-table.tsx";
import { branchRequests, classTotals, promptOf, spentUsd, unpriced } from "./requests.ts";

/** The context over time, and the model's view at one request. */
export function Context() {
  const requests = branchRequests.value;
  const [pointed, point] = useState<number>();
  const chosen = chosenIn(requests);
  const at = pointed !== undefined && pointed < requests.length ? pointed : chosen;
  const request = requests[at];
  if (request === undefined)
    return (
      <section class="context" aria-label="Context over time">
        <h2>Context over time</h2>
        <p class="quiet">No request on this branch reports its token count.</p>
      </section>
    );
  return (
    <section class="context" aria-label="Context over time">
      <h2>Context over time</h2>
      <p class="quiet">
        The chart shows the tokens sent with each request on this branch. Point at a request, click it or use
        the arrow keys to see its details below.
      </p>
      <Chart requests={requests} chosen={chosen} onChoose={(to) => stepTo(requests, to)} onPoint={point} />
      <Step request={request} at={at} requestCount={requests.length} onStep={(to) => stepTo(requests, to)} />
      <RequestTable requests={requests} chosen={chosen} />
      <ModelView request={request} />
      <Totals />
    </section>
  );
}

/** Position of the first request at or after the entry of the address; else of the last one. */
function chosenIn(requests: readonly PageRequest[]): number {
  const to = address.value;
  const named = "id" in to && to.id !== undefined ? rowOf.value.get(to.id) : undefined;
  const found = named === undefined ? -1 : requests.findIndex(({ row }) => row >= named);
  return found < 0 ? requests.length - 1 : found;
}

/** Replaces the address: "Back" skips steps. */
function stepTo(requests: readonly PageRequest[], at: number): void {
  const other = requests[Math.max(0, Math.min(requests.length - 1, at))];
  if (other !== undefined)
    location.replace(linkTo({ view: "context", id: page.peek()!.rows.ids[other.row]! }));
}

interface StepProps {
  request: PageRequest;
  at: number;
  requestCount: number;
  onStep: (index: number) => void;
}

function Step({ request, at, requestCount, onStep }: StepProps) {
  const { rows, models } = page.value!;
  const model = models[request.model];
  const spent = spentUsd.value?.[at];
  return (
    <div class="step">
      <button type="button" onClick={() => onStep(at - 1)} disabled={at === 0}>
        Previous request
      </button>
      <button type="button" onClick={() => onStep(at + 1)} disabled={at === requestCount - 1}>
        Next request
      </button>
      <p>
        Request {count(at + 1)} of {count(requestCount)}, {timeText(rows.times[request.row]!)},{" "}
        {model === undefined ? "" : `${model.provider}/${model.id}`}: {count(promptOf(request))} tokens sent (
        {count(request.input)} uncached, {count(request.cacheWrite)} cache write, {count(request.cacheRead)}{" "}
        cache read), {count(request.output)} output
        {request.costUsd === null ? "" : `, ${usdText(request.costUsd)}`}
        {spent === undefined ? "" : `, ${usdText(spent)} in total`}.{" "}
        {request.isOverflow && "The provider rejected it as too large. "}
        <Happened at={at} before="Before this request: " after=". " />
        {at === requestCount - 1 && <Happened at={requestCount} before="After this request: " after=". " />}
        <a href={linkTo({ view: "entry", id: rows.ids[request.row]! })}>Show the answer</a>
      </p>
    </div>
  );
}

function Totals() {
  const all = page.value!.requests.length;
  const number = branchRequests.value.length;
  const totals = classTotals.value;
  const spent = spentUsd.value?.at(-1);
  return (
    <>
      <h3>Cost of this branch</h3>
      <table class="totals figures">
        <caption>
          {counted(number, "request")} on this branch
          {all > number && `, ${count(all)} on all branches`}
          {unpriced.value > 0 && `; cost unknown for ${counted(unpriced.value, "request")}`}
        </caption>
        <thead>
          <tr>
            <th scope="col">Kind</th>
            <th scope="col">Tokens</th>
            {spent !== undefined && <th scope="col">Dollars</th>}
          </tr>
        </thead>
        <tbody>
          {totals.map(({ name, label, tokens, costUsd }) => (
            <tr key={name}>
              <th scope="row">
                {name !== "output" && <span class={`swatch ${name}`} />} {label}
              </th>
              <td>{count(tokens)}</td>
              {spent !== undefined && <td>{usdText(costUsd)}</td>}
            </tr>
          ))}
          {spent !== undefined && (
            <tr>
              <th scope="row">Total</th>
              <td>{count(totals.reduce((sum, { tokens }) => sum + tokens, 0))}</td>
              <td>{usdText(spent)}</td>
            </tr>
          )}
        </tbody>
      </table>
      <p class="quiet">This table excludes compactions and other requests outside the conversation.</p>
    </>
  );
}
