import { count, counted, shortTokens } from "@bonsai-agent/messages/numbers";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { PageRequest } from "../../src/page-data.ts";
import { ContextDrawing, LANES_PIXELS } from "./drawing.ts";
import { Sign, type SignName } from "./legend-sign.tsx";
import {
  type ContextMark,
  contextMarks,
  highestTokens,
  markCounts,
  priceClasses,
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
/** Narrower bars have no edges and no gaps between them. */
const MIN_EDGED_BAR_PIXELS = 3;

/** Tokens of each request by price class, with window, threshold, compactions and masks. */
export function Chart({ requests, chosen, onChoose, onPoint }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const line = useRef<ChosenLine | undefined>(undefined);
  const latest = useRef({ chosen, onChoose, onPoint });
  latest.current = { chosen, onChoose, onPoint };
  const isDark = useDarkScheme();
  const [marks, runs] = [contextMarks.value, windowRuns.value];
  // One request has costs, but no line.
  const spent = requests.length > 1 ? spentUsd.value : undefined;
  useEffect(() => {
    const element = place.current!;
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
  }, [requests, marks, runs, spent, isDark]);
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
        <Legend requests={requests} runs={runs} hasCosts={spent !== undefined} />
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
  return request.isOverflow ? "rejected as too large" : `${count(promptOf(request))} tokens`;
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

/** The line at the chosen request. It is above the chart, so that a step does not redraw the chart. */
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

/** A click chooses the request below the pointer. `onPoint` is called once a frame. */
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
  requests: readonly PageRequest[];
  runs: readonly WindowRun[];
  hasCosts: boolean;
}

/** Names only the drawn marks. */
function Legend({ requests, runs, hasCosts }: LegendProps) {
  const { compaction, undone, mask, overflow } = markCounts.value;
  const pixelTokens = topTokens(runs) / CHART_PIXELS;
  const classes = priceClasses.filter(({ name }) => requests.some((request) => request[name] > pixelTokens));
  const signs: Array<[sign: SignName, text: string | undefined, isShown?: boolean]> = [
    ["window", limitText(runs, ["windowTokens", "window"])],
    ["threshold", limitText(runs, ["thresholdTokens", "threshold"])],
    ["compaction", counted(compaction, "compaction"), compaction > 0],
    ["undone", counted(undone, "undone compaction"), undone > 0],
    ["mask", `${counted(mask, "mask")} (filled: several)`, mask > 0],
    ["overflow", `${counted(overflow, "request")} too large`, overflow > 0],
    ["dollars", "total dollars (right axis)", hasCosts],
  ];
  return (
    <ul class="legend">
      {classes.map(({ name, label }, at) => (
        <li key={name}>
          <span class={`swatch ${name}`} /> {label}
          {classes.length > 1 && (at === 0 ? " (bottom)" : at === classes.length - 1 ? " (top)" : "")}
        </li>
      ))}
      {signs.map(
        ([sign, text, isShown = text !== undefined]) =>
          isShown && (
            <li key={sign}>
              <Sign name={sign} /> {text}
            </li>
          ),
      )}
    </ul>
  );
}

/** The sizes that the chart reaches up to, in words: "window 200k", "windows 200k, 64k"; undefined if there are none. */
function limitText(
  runs: readonly WindowRun[],
  [field, noun]: ["windowTokens", "window"] | ["thresholdTokens", "threshold"],
): string | undefined {
  const top = topTokens(runs);
  const drawn = runs.map((run) => run[field]).filter((tokens) => tokens !== undefined && tokens <= top);
  const sizes = [...new Set(drawn as number[])].map(shortTokens);
  return sizes.length === 0 ? undefined : `${noun}${sizes.length > 1 ? "s" : ""} ${sizes.join(", ")}`;
}

/** The upper end of the token axis: above the highest request, and above the window unless that is far away. */
function topTokens(runs: readonly WindowRun[]): number {
  const highest = highestTokens.peek();
  const limits = runs.flatMap(({ windowTokens, thresholdTokens }) => [windowTokens, thresholdTokens]);
  const near = limits.filter((tokens) => tokens !== undefined && tokens <= highest * MAX_HEADROOM);
  return Math.max(highest, ...(near as number[])) * 1.08 || 1;
}

/** A window is drawn if it is at most this many times the highest request. */
const MAX_HEADROOM = 4;

/** Stacked, the highest first: each is drawn over the one before. */
function columnsOf(requests: readonly PageRequest[], spent: number[] | undefined): uPlot.AlignedData {
  return [
    requests.map((_, at) => at + 1),
    requests.map(promptOf),
    requests.map(({ cacheRead, cacheWrite }) => cacheRead + cacheWrite),
    requests.map(({ cacheRead }) => cacheRead),
    ...(spent === undefined ? [] : [spent]),
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
  const isEdged = requests.length * MIN_EDGED_BAR_PIXELS < width;
  const paths = uPlot.paths.bars!({ size: isEdged ? [0.9, 60] : [1, 60, 1] });
  const filled = (name: string, label: string): uPlot.Series => ({
    ...{ label, paths, fill: colour(name), stroke: colour(`${name}-edge`) },
    width: isEdged ? 1 : 0,
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
      return values.map((value) => (value < 10 ? `$${value.toFixed(places)}` : `$${shortTokens(value)}`));
    },
  };
  return {
    ...{ width, height: CHART_PIXELS, legend: { show: false } },
    padding: [marks.length > 0 ? LANES_PIXELS : 16, spent === undefined ? 16 : 0, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: false, range: [0, requests.length + 1] },
      y: { range: [0, topTokens(runs)] },
      usd: { range: [0, (spent?.at(-1) ?? 0) * 1.08 || 1] },
    },
    axes: [
      {
        ...axis,
        incrs: requestSteps,
        values: (_, values) =>
          values.map((value) => (value >= 1 && value <= requests.length ? count(value) : "")),
      },
      { ...axis, size: 56, values: (_, values) => values.map(shortTokens) },
      ...(spent === undefined ? [] : [dollarAxis]),
    ],
    series: [
      {},
      filled("--fresh", "Uncached"),
      filled("--cache-write", "Cache write"),
      filled("--cache-read", "Cache read"),
      ...(spent === undefined
        ? []
        : [
            {
              ...{ label: "Total dollars", scale: "usd", stroke: colour("--accent"), width: 2 },
              points: { show: false },
            },
          ]),
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

/** Requests between two lines of the grid. */
const requestSteps = [1, 10, 100, 1_000, 10_000, 100_000].flatMap((step) => [step, 2 * step, 5 * step]);

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
