import { elapsed } from "../../views/numbers.ts";
import { cutText } from "../terminal/fitted-lines.ts";
import type { Theme } from "../terminal/theme.ts";
import { type Component, visibleWidth } from "../terminal/tui.ts";
import type { ActivityModel, Doing } from "./activity-model.ts";

/** Under ten frames a second. */
const FRAME_MS = 120;
/** Slow terminals fall behind at a higher pace. */
const leastFrameMs = 40;

/** The spinner. */
export interface SpinnerLooks {
  /** Drawn as they are; none: no spinner. Default: ours. */
  frames?: readonly string[] | undefined;
  /** Milliseconds for each. Default 120. */
  intervalMs?: number | undefined;
}

interface ActivityLineOptions {
  model: ActivityModel;
  theme: Theme;
  now: () => number;
  redraw: () => void;
  /** False once the agent is idle, even without an event. */
  isBusy: () => boolean;
}

/**
 * What goes on and for how long; while nothing does, an empty line keeps chat and editor apart. A timer runs only while
 * something does.
 */
export class ActivityLine implements Component {
  readonly #options: ActivityLineOptions;
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;
  #frames: readonly string[] | undefined;
  #frameMs = FRAME_MS;

  constructor(options: ActivityLineOptions) {
    this.#options = options;
  }

  /** Undefined restores the default. */
  setSpinner({ frames, intervalMs }: SpinnerLooks = {}): void {
    this.#frames = frames;
    this.#frameMs = Math.max(leastFrameMs, intervalMs ?? FRAME_MS);
    this.stop();
    this.changed();
  }

  /** To be called when the model has changed. */
  changed(): void {
    const { model, now, redraw } = this.#options;
    if (model.doing(now()) === undefined) this.stop();
    else this.#timer ??= setInterval(() => this.#turn(), this.#frameMs).unref();
    redraw();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  render(width: number): string[] {
    const { model, theme, now } = this.#options;
    const nowMs = now();
    const doing = model.doing(nowMs);
    if (doing === undefined) return [""];
    return activityLines(doing, { nowMs, frame: this.#frame, frames: this.#frames, width, theme });
  }

  invalidate(): void {}

  #turn(): void {
    this.#frame += 1;
    const { model, isBusy } = this.#options;
    if (!isBusy()) model.ended();
    this.changed();
  }
}

const MIN_COLUMNS_FOR_KEY = 40;

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/**
 * One line: a sign that turns, what goes on, for how long, and the key that stops it. Where the text has to give way, the
 * time stays, and the key where there is much room.
 */
export function activityLines(
  { text, sinceMs, stopKey }: Doing,
  {
    nowMs,
    frame,
    frames: own,
    width,
    theme,
  }: { nowMs: number; frame: number; frames?: readonly string[] | undefined; width: number; theme: Theme },
): string[] {
  const { style } = theme;
  const stop = stopKey === undefined || width < MIN_COLUMNS_FOR_KEY ? [] : [`${stopKey} stops`];
  const clock = sinceMs === undefined ? [] : [elapsed(nowMs - sinceMs)];
  const time = [...clock, ...stop].length === 0 ? "" : `  ${[...clock, ...stop].join(" · ")}`;
  const sign = own === undefined ? style.accent(` ${frames[frame % frames.length]} `) : signOf(own, frame);
  const columns = width - visibleWidth(sign) - visibleWidth(time);
  if (columns < 1) return ["", cutText(sign, width)];
  return ["", `${sign}${style.muted(cutText(text, columns))}${style.dim(time)}`];
}

function signOf(signs: readonly string[], frame: number): string {
  return signs.length === 0 ? " " : ` ${signs[frame % signs.length]} `;
}
