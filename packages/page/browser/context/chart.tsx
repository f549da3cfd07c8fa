import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { PageRequest } from "../../src/page-data.ts";
import { counted, digits, short } from "../numbers.ts";
import { theme } from "../theme.ts";
import { ContextDrawing, LANES_PIXELS } from "./drawing.ts";
import { priceClasses } from "./price-classes.ts";
import {
  type ContextMark,
  contextMarks,
  highestTokens,
  markCounts,
  promptOf,
  spentUsd,
  type WindowRun,
  windowRuns,
} from "./requests.ts";

export interface ChartProps {
  requests: readonly PageRequest[];
  chosen: number;
  onChoose: (index: number) => void;
  /** The request that is pointed at; undefined for none. */
  onPoint: (index: number | undefined) => void;
}

const CHART_PIXELS = 340;
/** Of a bar; where there is less space, what they rise to is drawn as an area. */
const LEAST_BAR_PIXELS = 3;

/** Tokens of each request, by what they cost; with the window, the threshold, and what made the context smaller. */
export function Chart({ requests, chosen, onChoose, onPoint }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const line = useRef<ChosenLine | undefined>(undefined);
  const latest = useRef({ chosen, onChoose, onPoint });
  latest.current = { chosen, onChoose, onPoint };
  const isDark = useDarkScheme();
  const [marks, runs, spent] = [contextMarks.value, windowRuns.value, spentUsd.value];
  useEffect(() => {
    const element = place.current!;
    // Paper has other colours than the screen: what was drawn keeps its own ground.
    element.style.backgroundColor = resolved(element, "--page");
    const drawn = new uPlot(
      optionsOf(element, { requests, marks, runs, spent }),
      columnsOf(requests, spent),
      element,
    );
    line.current = new ChosenLine(drawn, () => latest.current.chosen);
    listen(drawn, latest);
    const watch = new ResizeObserver(() => {
      drawn.setSize({ width: Math.max(200, element.clientWidth), height: CHART_PIXELS });
      line.current?.place();
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      drawn.destroy();
    };
  }, [requests, marks, runs, spent, theme.value, isDark]);
  useEffect(() => line.current?.place(), [chosen]);
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
          const by = event.ctrlKey || event.altKey || event.metaKey ? undefined : steps[event.key];
          if (by === undefined) return;
          event.preventDefault();
          onPoint(undefined);
          onChoose(Number.isFinite(by) ? chosen + by : by > 0 ? requests.length - 1 : 0);
        }}
      />
      <figcaption>
        <Legend runs={runs} hasCosts={spent !== undefined} />
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
  return request.isOverflow ? "rejected as too large" : `${digits(promptOf(request))} tokens`;
}

function useDarkScheme(): boolean {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const [isDark, setDark] = useState(query.matches);
  useEffect(() => {
    const listener = () => setDark(query.matches);
    query.addEventListener("change", listener);
    return () => query.removeEventListener("change", listener);
  }, []);
  return isDark;
}

/** The line at the chosen request. It lies over the chart, which is not drawn anew for it. */
class ChosenLine {
  readonly #chart: uPlot;
  readonly #chosen: () => number;
  readonly #element = document.createElement("div");

  constructor(chart: uPlot, chosen: () => number) {
    this.#chart = chart;
    this.#chosen = chosen;
    this.#element.className = "chosen-line";
    chart.over.append(this.#element);
    this.place();
  }

  place(): void {
    const x = this.#chart.valToPos(this.#chosen() + 1, "x");
    this.#element.style.transform = `translateX(${Math.round(x)}px)`;
  }
}

/** A click chooses the request below the pointer; what is pointed at is told once a frame. */
function listen(
  chart: uPlot,
  latest: { current: { onChoose: (index: number) => void; onPoint: ChartProps["onPoint"] } },
): void {
  chart.over.addEventListener("click", () => {
    const { idx } = chart.cursor;
    if (idx != null) latest.current.onChoose(idx);
  });
  let frame = 0;
  const tell = (index: number | undefined) => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => latest.current.onPoint(index));
  };
  chart.over.addEventListener("mousemove", () => tell(chart.cursor.idx ?? undefined));
  chart.over.addEventListener("mouseleave", () => tell(undefined));
}

interface LegendProps {
  runs: readonly WindowRun[];
  hasCosts: boolean;
}

function Legend({ runs, hasCosts }: LegendProps) {
  const { compaction, undone, mask, overflow } = markCounts.value;
  const { windowTokens, thresholdTokens } = runs.findLast((run) => run.windowTokens !== undefined) ?? {};
  const signs: Array<[sign: string, text: string, isShown: boolean]> = [
    ["—", `window ${short(windowTokens ?? 0)}`, windowTokens !== undefined],
    ["┄", `threshold ${short(thresholdTokens ?? 0)}`, thresholdTokens !== undefined],
    ["▼", counted(compaction, "compaction"), compaction > 0],
    ["▽", counted(undone, "undone compaction"), undone > 0],
    ["○", `${counted(mask, "mask")} (● = several)`, mask > 0],
    ["✕", `${counted(overflow, "request")} too large`, overflow > 0],
    ["╱", "total dollars (right axis)", hasCosts],
  ];
  return (
    <ul class="legend">
      {priceClasses.map(({ name, label }, at) => (
        <li key={name}>
          <span class={`swatch ${name}`} /> {label}
          {at === 0 ? " (bottom)" : at === priceClasses.length - 1 ? " (top)" : ""}
        </li>
      ))}
      {signs.map(([sign, text, isShown]) => isShown && <li key={sign}>{`${sign} ${text}`}</li>)}
    </ul>
  );
}

/** Stacked, the highest first: each is drawn over the one before. */
function columnsOf(requests: readonly PageRequest[], spent: number[] | undefined): uPlot.AlignedData {
  return [
    requests.map((_, at) => at + 1),
    requests.map(promptOf),
    requests.map(({ cacheRead, cacheWrite }) => cacheRead + cacheWrite),
    requests.map(({ cacheRead }) => cacheRead),
    ...(spent === undefined ? [] : [spent, spent]),
  ];
}

interface Drawn {
  requests: readonly PageRequest[];
  marks: readonly ContextMark[];
  runs: readonly WindowRun[];
  spent: number[] | undefined;
}

function optionsOf(element: HTMLElement, { requests, marks, runs, spent }: Drawn): uPlot.Options {
  const colour = coloursOf(element);
  const width = Math.max(200, element.clientWidth);
  const hasBars = requests.length * LEAST_BAR_PIXELS < width;
  const paths = hasBars ? uPlot.paths.bars!({ size: [0.9, 60] }) : uPlot.paths.linear!();
  const filled = (name: string, label: string): uPlot.Series => ({
    ...{ label, paths, fill: colour(name), stroke: colour(`${name}-edge`) },
    width: 1,
    points: { show: false },
  });
  const axis: uPlot.Axis = {
    stroke: colour("--quiet"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line") },
  };
  const dollarAxis: uPlot.Axis = {
    ...{ ...axis, scale: "usd", side: 1, size: 56, grid: { show: false } },
    values: (_, values) => {
      const places = (values.at(-1) ?? 0) < 0.1 ? 3 : 2;
      return values.map((value) => (value < 10 ? `$${value.toFixed(places)}` : `$${short(value)}`));
    },
  };
  const windows = runs.map(({ windowTokens }) => windowTokens ?? 0);
  const window = windows.reduce((most, each) => Math.max(most, each), 0);
  const highest = highestTokens.peek();
  return {
    ...{ width, height: CHART_PIXELS, legend: { show: false } },
    padding: [marks.length > 0 ? LANES_PIXELS : 16, spent === undefined ? 16 : 0, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: false, range: [0, requests.length + 1] },
      y: { range: [0, Math.max(highest, Math.min(window, highest * 3)) * 1.08 || 1] },
      usd: { range: [0, (spent?.at(-1) ?? 0) * 1.08 || 1] },
    },
    axes: [
      {
        ...axis,
        values: (_, values) => values.map((value) => (Number.isInteger(value) ? digits(value) : "")),
      },
      { ...axis, size: 56, values: (_, values) => values.map(short) },
      ...(spent === undefined ? [] : [dollarAxis]),
    ],
    series: [
      {},
      filled("--fresh", "Uncached"),
      filled("--cache-write", "Cache write"),
      filled("--cache-read", "Cache read"),
      ...(spent === undefined
        ? []
        : [dollarSeries(colour("--page"), 6), dollarSeries(colour("--accent"), 2)]),
    ],
    hooks: {
      draw: [
        (chart) => {
          const drawing = new ContextDrawing(chart, colour);
          chart.ctx.save();
          drawing.limits(runs);
          drawing.marks(marks);
          chart.ctx.restore();
        },
      ],
    },
  };
}

/** Drawn twice, first as the ground on which it is seen over bars of any colour. */
function dollarSeries(stroke: string, width: number): uPlot.Series {
  return { label: "Total dollars", scale: "usd", stroke, width, points: { show: false } };
}

/** `light-dark()` is resolved only where it is used. */
function coloursOf(element: HTMLElement): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const found = known.get(name) ?? resolved(element, name);
    known.set(name, found);
    return found;
  };
}

function resolved(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name}, gray)`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
