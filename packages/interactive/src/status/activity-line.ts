import { elapsed } from "@bonsai-agent/app/numbers";
import { cutText } from "../terminal/fitted-lines.ts";
import type { Theme } from "../terminal/theme.ts";
import { type Component, visibleWidth } from "../terminal/tui.ts";
import type { ActivityModel, Doing } from "./activity-model.ts";

/** The spinner turns at this pace: under ten frames a second. */
const FRAME_MS = 120;

interface ActivityLineOptions {
  model: ActivityModel;
  theme: Theme;
  now: () => number;
  redraw: () => void;
  /** False once the agent is idle, also where no event has reported it. */
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

  constructor(options: ActivityLineOptions) {
    this.#options = options;
  }

  /** To be called when the model has changed. */
  changed(): void {
    const { model, now, redraw } = this.#options;
    if (model.doing(now()) === undefined) this.stop();
    else this.#timer ??= setInterval(() => this.#turn(), FRAME_MS).unref();
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
    return doing === undefined ? [""] : activityLines(doing, { nowMs, frame: this.#frame, width, theme });
  }

  invalidate(): void {}

  #turn(): void {
    this.#frame += 1;
    const { model, isBusy } = this.#options;
    if (!isBusy()) model.ended();
    this.changed();
  }
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** One line: a sign that turns, what goes on, for how long. The time stays when the text has to give way. */
export function activityLines(
  { text, sinceMs }: Doing,
  { nowMs, frame, width, theme }: { nowMs: number; frame: number; width: number; theme: Theme },
): string[] {
  const { style } = theme;
  const time = `  ${elapsed(nowMs - sinceMs)}`;
  const sign = ` ${frames[frame % frames.length]} `;
  const columns = width - visibleWidth(sign) - visibleWidth(time);
  if (columns < 1) return ["", cutText(sign, width)];
  return ["", `${style.accent(sign)}${style.muted(cutText(text, columns))}${style.dim(time)}`];
}
