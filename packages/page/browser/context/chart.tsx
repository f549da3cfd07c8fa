import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { PageRequest } from "../../src/page-data.ts";
import { digits, short } from "../numbers.ts";
import { page } from "../page-store.ts";
import { shownPath } from "../session-tree.ts";
import { theme } from "../theme.ts";
import { priceClasses } from "./price-classes.ts";

export interface ChartProps {
  requests: readonly PageRequest[];
  chosen: number;
  onChoose: (index: number) => void;
}

const CHART_PIXELS = 300;

/** Tokens of each request, by what they cost; with the window, the threshold, and what made the context smaller. */
export function Chart({ requests, chosen, onChoose }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const latest = useRef({ chosen, onChoose });
  latest.current = { chosen, onChoose };
  useEffect(() => {
    const element = place.current!;
    const drawn = new uPlot(optionsOf(element, requests, latest), columnsOf(requests), element);
    chart.current = drawn;
    const watch = new ResizeObserver(() =>
      drawn.setSize({ width: element.clientWidth, height: CHART_PIXELS }),
    );
    watch.observe(element);
    return () => {
      watch.disconnect();
      drawn.destroy();
    };
  }, [requests, theme.value]);
  useEffect(() => chart.current?.redraw(false), [chosen]);
  return (
    <figure class="chart">
      <div
        ref={place}
        role="slider"
        tabIndex={0}
        aria-label="Request"
        aria-valuemin={1}
        aria-valuemax={requests.length}
        aria-valuenow={chosen + 1}
        aria-valuetext={valueText(requests[chosen])}
        onKeyDown={(event) => {
          const by = steps[event.key];
          if (by === undefined) return;
          event.preventDefault();
          onChoose(Number.isFinite(by) ? chosen + by : by > 0 ? requests.length - 1 : 0);
        }}
      />
      <figcaption>
        <Legend requests={requests} />
      </figcaption>
    </figure>
  );
}

const steps: Readonly<Record<string, number | undefined>> = {
  ...{ ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 10, PageDown: -10 },
  ...{ Home: Number.NEGATIVE_INFINITY, End: Number.POSITIVE_INFINITY },
};

function valueText(request: PageRequest | undefined): string {
  if (request === undefined) return "";
  return `${digits(request.input + request.cacheRead + request.cacheWrite)} tokens`;
}

function Legend({ requests }: { requests: readonly PageRequest[] }) {
  const { windowTokens, thresholdTokens } = sizesOf(requests);
  const marks = marksOf(requests);
  return (
    <ul class="legend">
      {priceClasses.toReversed().map(({ name, label }) => (
        <li key={name}>
          <span class={`swatch ${name}`} /> {label}
        </li>
      ))}
      {windowTokens !== undefined && <li>— window {short(windowTokens)}</li>}
      {thresholdTokens !== undefined && <li>┄ threshold {short(thresholdTokens)}</li>}
      <li>▼ {digits(marks.filter(({ kind }) => kind === "compaction").length)} compactions</li>
      <li>○ {digits(marks.filter(({ kind }) => kind === "mask").length)} masks</li>
      <li>✕ {digits(requests.filter(({ isOverflow }) => isOverflow).length)} overflows</li>
    </ul>
  );
}

/** Of the latest request whose model they are known of. */
function sizesOf(requests: readonly PageRequest[]): { windowTokens?: number; thresholdTokens?: number } {
  const models = page.value?.models ?? [];
  return (
    models[requests.findLast(({ model }) => models[model]?.windowTokens !== undefined)?.model ?? -1] ?? {}
  );
}

/** What made the context smaller, at the first request behind it. */
function marksOf(requests: readonly PageRequest[]): Array<{ at: number; kind: "compaction" | "mask" }> {
  const data = page.value!;
  const on = new Set(shownPath.value);
  const at = (row: number) => requests.findIndex((request) => request.row > row);
  return [
    ...data.compactions.map(({ row }) => ({ row, kind: "compaction" as const })),
    ...data.masks.map(({ row }) => ({ row, kind: "mask" as const })),
  ]
    .filter(({ row }) => on.has(row))
    .map(({ row, kind }) => ({ at: at(row), kind }))
    .filter((mark) => mark.at >= 0);
}

/** Stacked, the highest first: each is drawn over the one before. */
function columnsOf(requests: readonly PageRequest[]): uPlot.AlignedData {
  return [
    requests.map((_, at) => at + 1),
    requests.map(({ input, cacheRead, cacheWrite }) => input + cacheRead + cacheWrite),
    requests.map(({ cacheRead, cacheWrite }) => cacheRead + cacheWrite),
    requests.map(({ cacheRead }) => cacheRead),
  ];
}

function optionsOf(
  element: HTMLElement,
  requests: readonly PageRequest[],
  latest: { current: { chosen: number; onChoose: (index: number) => void } },
): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => resolved(element, style, name);
  const { windowTokens, thresholdTokens } = sizesOf(requests);
  const marks = marksOf(requests);
  const highest = Math.max(...requests.map((each) => each.input + each.cacheRead + each.cacheWrite));
  const bars = uPlot.paths.bars!({ size: [0.9, 60] });
  const axis = {
    stroke: colour("--quiet"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line") },
  };
  const filled = (name: string, label: string): uPlot.Series => ({
    label,
    paths: bars,
    fill: colour(name),
    stroke: colour(name),
    width: 0,
    points: { show: false },
  });
  return {
    width: Math.max(200, element.clientWidth),
    height: CHART_PIXELS,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: [0, requests.length + 1] },
      y: { range: [0, Math.max(highest, Math.min(windowTokens ?? 0, highest * 3)) * 1.08 || 1] },
    },
    axes: [{ ...axis }, { ...axis, size: 56, values: (_, values) => values.map(short) }],
    series: [
      {},
      filled("--fresh", "Fresh"),
      filled("--cache-write", "Cache written"),
      filled("--cache-read", "Cache read"),
    ],
    hooks: {
      ready: [
        (chart) => {
          chart.over.addEventListener("click", () => {
            const { idx } = chart.cursor;
            if (idx != null) latest.current.onChoose(idx);
          });
        },
      ],
      draw: [
        (chart) => {
          const { ctx } = chart;
          ctx.save();
          if (windowTokens !== undefined) across(chart, windowTokens, colour("--bad"), []);
          if (thresholdTokens !== undefined) across(chart, thresholdTokens, colour("--warn"), [6, 4]);
          for (const { at, kind } of marks)
            drawMark(chart, at, kind, colour(kind === "mask" ? "--masked" : "--summarised"));
          for (const [at, { isOverflow }] of requests.entries())
            if (isOverflow) drawMark(chart, at, "overflow", colour("--bad"));
          drawChosen(chart, latest.current.chosen, colour("--text"));
          ctx.restore();
        },
      ],
    },
  };
}

/** `light-dark()` is resolved only where it is used. */
function resolved(element: HTMLElement, style: CSSStyleDeclaration, name: string): string {
  if (style.getPropertyValue(name) === "") return "gray";
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function across({ ctx, bbox, valToPos }: uPlot, value: number, colour: string, dash: number[]): void {
  const y = valToPos(value, "y", true);
  if (y < bbox.top) return;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2;
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.setLineDash([]);
}

function drawMark({ ctx, bbox, valToPos }: uPlot, at: number, kind: string, colour: string): void {
  const x = valToPos(at + 0.5, "x", true);
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  const size = 5 * devicePixelRatio;
  ctx.beginPath();
  if (kind === "compaction") {
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x - size, bbox.top);
    ctx.lineTo(x + size, bbox.top);
    ctx.lineTo(x, bbox.top + size * 1.6);
    ctx.fill();
  } else if (kind === "mask") {
    ctx.arc(x, bbox.top + size * 3, size * 0.7, 0, 2 * Math.PI);
    ctx.stroke();
  } else {
    const y = bbox.top + size * 5;
    const middle = valToPos(at + 1, "x", true);
    ctx.moveTo(middle - size, y - size);
    ctx.lineTo(middle + size, y + size);
    ctx.moveTo(middle + size, y - size);
    ctx.lineTo(middle - size, y + size);
    ctx.stroke();
  }
}

function drawChosen({ ctx, bbox, valToPos }: uPlot, at: number, colour: string): void {
  const x = valToPos(at + 1, "x", true);
  ctx.strokeStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2, 2]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.setLineDash([]);
}
