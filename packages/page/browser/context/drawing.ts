import type uPlot from "uplot";
import type { ContextMark, WindowRun } from "./requests.ts";

/** Above the plot, in pixels: a lane for each kind of mark. */
export const LANES_PIXELS = 48;

const lanes: Readonly<Record<ContextMark["kind"], number>> = {
  compaction: 8,
  undone: 8,
  mask: 24,
  overflow: 39,
};

/** Marks nearer than this are drawn as one. */
const GROUP_PIXELS = 12;
const MARK_PIXELS = 5;

/** Draws limits and marks on the chart, in pixels of the canvas. */
export class ContextDrawing {
  readonly #chart: uPlot;
  readonly #colour: (name: string) => string;

  constructor(chart: uPlot, colour: (name: string) => string) {
    this.#chart = chart;
    this.#colour = colour;
  }

  /** The window and the threshold, as far as each holds. */
  limits(runs: readonly WindowRun[]): void {
    for (const run of runs) {
      if (run.windowTokens !== undefined) this.#across(run, run.windowTokens, "--bad", []);
      if (run.thresholdTokens !== undefined) this.#across(run, run.thresholdTokens, "--warn", [6, 4]);
    }
  }

  #across({ from, to }: WindowRun, tokens: number, colour: string, dash: number[]): void {
    const { ctx, bbox, valToPos } = this.#chart;
    const y = valToPos(tokens, "y", true);
    if (y < bbox.top) return;
    ctx.strokeStyle = this.#colour(colour);
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
    this.#line(valToPos(from + 0.5, "x", true), y, valToPos(to + 1.5, "x", true), y);
    ctx.setLineDash([]);
  }

  marks(marks: readonly ContextMark[]): void {
    const drawn = new Map<string, number>();
    for (const { kind, at } of marks) {
      const middle = kind === "overflow" ? at + 1 : at + 0.5;
      const x = this.#chart.valToPos(middle, "x", true);
      const group = `${kind} ${Math.round(x / (GROUP_PIXELS * devicePixelRatio))}`;
      const known = drawn.get(group);
      if (known === undefined) this.#mark(kind, x);
      else if (kind === "mask" && known === 1) this.#fillCircle(x);
      drawn.set(group, (known ?? 0) + 1);
    }
  }

  #mark(kind: ContextMark["kind"], x: number): void {
    const { ctx, bbox } = this.#chart;
    const size = MARK_PIXELS * devicePixelRatio;
    const y = this.#lane(kind);
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.strokeStyle = ctx.fillStyle = this.#colour(markColours[kind]);
    if (kind === "mask") this.#circle(x, y, size * 0.8);
    else if (kind === "overflow") {
      this.#line(x - size, y - size, x + size, y + size);
      this.#line(x + size, y - size, x - size, y + size);
    } else {
      this.#triangle(x, y, size, kind === "compaction");
      if (kind === "undone") ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
      ctx.lineWidth = devicePixelRatio;
      this.#line(x, y + size, x, bbox.top + bbox.height);
      ctx.setLineDash([]);
    }
  }

  /** Several masks at one place are a circle that is filled. */
  #fillCircle(x: number): void {
    const { ctx } = this.#chart;
    ctx.fillStyle = this.#colour(markColours.mask);
    ctx.beginPath();
    ctx.arc(x, this.#lane("mask"), MARK_PIXELS * 0.8 * devicePixelRatio, 0, 2 * Math.PI);
    ctx.fill();
  }

  #lane(kind: ContextMark["kind"]): number {
    return this.#chart.bbox.top - (LANES_PIXELS - lanes[kind]) * devicePixelRatio;
  }

  #circle(x: number, y: number, radius: number): void {
    const { ctx } = this.#chart;
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, 2 * Math.PI);
    ctx.stroke();
  }

  #triangle(x: number, y: number, size: number, isFilled: boolean): void {
    const { ctx } = this.#chart;
    ctx.beginPath();
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y - size);
    ctx.lineTo(x, y + size);
    ctx.closePath();
    if (isFilled) ctx.fill();
    else ctx.stroke();
  }

  #line(fromX: number, fromY: number, toX: number, toY: number): void {
    const { ctx } = this.#chart;
    ctx.beginPath();
    ctx.moveTo(fromX, fromY);
    ctx.lineTo(toX, toY);
    ctx.stroke();
  }
}

const markColours: Readonly<Record<ContextMark["kind"], string>> = {
  compaction: "--mark-compaction",
  undone: "--mark-compaction",
  mask: "--mark-mask",
  overflow: "--bad",
};
