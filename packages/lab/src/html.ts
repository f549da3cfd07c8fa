import { createHash } from "node:crypto";
import { costPhrase } from "@bonsai-agent/messages";
import { count, counted, usdText } from "@bonsai-agent/messages/numbers";
import { compactionCount, type LabRun, type PolicyResult } from "./run.ts";
import { headline, labColumns, runNotes, tableRows } from "./table.ts";

/**
 * A run as one HTML file: its table, and for each policy a chart of the context over the longest day. It has no scripts and
 * loads nothing.
 */
export function labHtml(run: LabRun): string {
  const { sessions, recorded } = run;
  const policies = tableRows(run.policies);
  const title = `${counted(sessions, "session")} replayed`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${styleHash}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escaped(title)}</title>
<style>${STYLE}</style></head>
<body><main>
<h1>${escaped(title)}</h1>
<p>${escaped(headline(run))}</p>
<p>Recorded: ${counted(recorded.requests, "request")}, ${counted(recorded.compactions, "compaction")}, ${costPhrase(recorded)}.</p>
${runNotes(run)
  .map((text) => `<p>${escaped(text)}</p>`)
  .join("\n")}
${tableHtml(policies)}
<h2>Context over time</h2>
<p class="quiet">Tokens of each request in the longest session. A drop is a compaction or a mask.</p>
<div class="charts">
${policies.map((each) => chartHtml(each, policies)).join("\n")}
</div>
<h2>Columns</h2>
<dl>
${labColumns.map(({ name, meaning }) => `<dt>${name}</dt><dd>${meaning}</dd>`).join("\n")}
</dl>
</main></body></html>
`;
}

function tableHtml(policies: readonly PolicyResult[]): string {
  const rows = policies.map(
    (result) =>
      `<tr><th scope="row">${escaped(result.policy)}</th>${labColumns.map(({ cell }) => `<td>${cell(result)}</td>`).join("")}</tr>`,
  );
  return `<div class="scroll" tabindex="0" role="region" aria-label="Policies"><table>
<thead><tr><th scope="col">Policy</th>${labColumns.map(({ name }) => `<th scope="col">${name}</th>`).join("")}</tr></thead>
<tbody>
${rows.join("\n")}
</tbody></table></div>`;
}

/** Size of a chart in its own units. */
const SIZE = { width: 600, height: 160 };

function chartHtml(result: PolicyResult, policies: readonly PolicyResult[]): string {
  const { policy, context, highestTokens } = result;
  const most = policies.reduce((highest, each) => Math.max(highest, each.highestTokens), 1);
  const label = `${policy}: ${counted(context.length, "request")}, at most ${count(highestTokens)} tokens, ${counted(compactionCount(result), "compaction")}`;
  const line = lineOf(context, most);
  return `<figure><figcaption>${escaped(policy)} <span class="quiet">${usdText(result.usd)}, at most ${count(highestTokens)} tokens</span></figcaption>
<svg viewBox="0 0 ${SIZE.width} ${SIZE.height}" role="img" aria-label="${escaped(label)}" preserveAspectRatio="none">
<path class="area" d="${line && `${line}L${SIZE.width} ${SIZE.height}L0 ${SIZE.height}Z`}"/>
<path class="line" d="${line}"/>
</svg></figure>`;
}

/** Maximum steps of a chart. Each step shows its highest value. */
const MAX_STEPS = 600;

function lineOf(values: readonly number[], most: number): string {
  const steps = Math.min(MAX_STEPS, values.length);
  const points = Array.from({ length: steps }, (_, step) => {
    const [from, to] = [step, step + 1].map((at) => Math.floor((at * values.length) / steps));
    const highest = values.slice(from, to).reduce((high, value) => Math.max(high, value), 0);
    const y = SIZE.height - (highest / most) * SIZE.height;
    return `${((step * SIZE.width) / Math.max(1, steps - 1)).toFixed(1)} ${y.toFixed(1)}`;
  });
  return points.length === 0 ? "" : `M${points.join("L")}`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}

const STYLE = `
:root { color-scheme: light dark; --page: light-dark(#ffffff, #16181c); --line: light-dark(#d5d9e0, #3a3f49);
  --text: light-dark(#1b1e24, #e6e8ec); --quiet: light-dark(#525966, #a9b1bd); --area: light-dark(#b7d2f2, #234b7a);
  --stroke: light-dark(#2f6db3, #7fb0ea); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px / 1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.3rem; } h2 { margin-top: 2rem; font-size: 1.1rem; }
.quiet { color: var(--quiet); }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline: 2px solid var(--stroke); }
table { border-collapse: collapse; font-size: 0.9rem; white-space: nowrap; }
th, td { padding: 0.25rem 0.9rem 0.25rem 0; border-bottom: 1px solid var(--line); text-align: right; font-variant-numeric: tabular-nums; }
th:first-child { text-align: left; }
th { font-weight: 600; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { font-size: 0.9rem; }
svg { display: block; width: 100%; height: 8rem; border-bottom: 1px solid var(--line); }
.area { fill: var(--area); } .line { fill: none; stroke: var(--stroke); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
dt { font-weight: 600; } dd { margin: 0 0 0.5rem; }
`;

const styleHash = createHash("sha256").update(STYLE).digest("base64");
