import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { elapsed } from "../../views/numbers.ts";
import { oneLine } from "../../views/terminal-text.ts";
import { cutText } from "../terminal/fitted-lines.ts";
import { keys } from "../terminal/keys.ts";
import type { Theme } from "../terminal/theme.ts";
import { type Component, visibleWidth } from "../terminal/tui.ts";
import {
  type Activity,
  currentActivity,
  NO_WORK,
  nextWork,
  type Wait,
  WORK_EVENTS,
  type WorkEvent,
} from "./activity.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 120;
/** Slow terminals fall behind at a higher rate. */
const MIN_FRAME_MS = 40;

export interface SpinnerLooks {
  /** Drawn as given; an empty list shows no spinner. Default: ours. */
  frames?: readonly string[] | undefined;
  /** Milliseconds for each. Default 120. */
  intervalMs?: number | undefined;
}

interface ActivityLineOptions {
  theme: Theme;
  now: () => number;
  redraw: () => void;
  /** False once the agent is idle, even without an event. */
  isBusy: () => boolean;
}

/** Shows the current work and its time; an empty line without work. A timer runs only while there is work. */
export class ActivityLine implements Component {
  readonly #options: ActivityLineOptions;
  #work = NO_WORK;
  readonly #waits = new Set<Wait>();
  #message: string | undefined;
  #isHidden = false;
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;
  #spinner: SpinnerLooks = {};

  constructor(options: ActivityLineOptions) {
    this.#options = options;
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    for (const name of WORK_EVENTS)
      lifecycle.on(name, (event: unknown) => this.dispatch(event as WorkEvent) as undefined);
  }

  /** True after the last answer of a run: the agent will be idle soon. */
  get isEnding(): boolean {
    return this.#work.isEnding === true;
  }

  dispatch(event: WorkEvent): void {
    const next = nextWork(this.#work, event, this.#options.now());
    if (next === this.#work) return;
    this.#work = next;
    this.#update();
  }

  /** Shows that an extension's handler has not answered. @returns ends that */
  addWait(wait: Wait): () => void {
    this.#waits.add(wait);
    this.#update();
    return () => {
      this.#waits.delete(wait);
      this.#update();
    };
  }

  /** Shown for a run; undefined restores the default. */
  setWorkingMessage(message: string | undefined): void {
    this.#message = message === undefined ? undefined : oneLine(message, 160) || undefined;
    this.#update();
  }

  /** False hides the line of a run, except waits, retries and cancellable work. */
  setWorkingVisible(isVisible: boolean): void {
    this.#isHidden = !isVisible;
    this.#update();
  }

  setWorkingIndicator(looks: SpinnerLooks | undefined): void {
    this.#spinner = looks ?? {};
    this.stop();
    this.#update();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  render(width: number): string[] {
    const activity = this.#activity();
    if (activity === undefined) return [""];
    const { theme, now } = this.#options;
    return activityLines(activity, {
      ...{ nowMs: now(), frame: this.#frame, frames: this.#spinner.frames, width, theme },
    });
  }

  invalidate(): void {}

  #activity(): Activity | undefined {
    const [wait] = this.#waits;
    return currentActivity(this.#work, {
      ...{ nowMs: this.#options.now(), stopKey: keys.label("interrupt") },
      ...{ wait, message: this.#message, isHidden: this.#isHidden },
    });
  }

  #update(): void {
    const frameMs = Math.max(MIN_FRAME_MS, this.#spinner.intervalMs ?? FRAME_MS);
    if (this.#activity() === undefined) this.stop();
    else this.#timer ??= setInterval(() => this.#turn(), frameMs).unref();
    this.#options.redraw();
  }

  #turn(): void {
    this.#frame += 1;
    if (!this.#options.isBusy()) this.#work = NO_WORK;
    this.#update();
  }
}

const MIN_COLUMNS_FOR_KEY = 40;

interface LineOptions {
  nowMs: number;
  frame: number;
  frames?: readonly string[] | undefined;
  width: number;
  theme: Theme;
}

/** Spinner, text, time and the key that stops the work. A long text is cut; the time stays. */
export function activityLines({ text, sinceMs, stopKey }: Activity, options: LineOptions): string[] {
  const { nowMs, frame, frames, width, theme } = options;
  const tail = [
    ...(sinceMs === undefined ? [] : [elapsed(nowMs - sinceMs)]),
    ...(stopKey === undefined || width < MIN_COLUMNS_FOR_KEY ? [] : [`${stopKey} stops`]),
  ];
  const end = tail.length === 0 ? "" : `  ${tail.join(" · ")}`;
  const { style } = theme;
  const spinner =
    frames === undefined
      ? style.accent(` ${FRAMES[frame % FRAMES.length]} `)
      : ` ${frames.length === 0 ? "" : `${frames[frame % frames.length]} `}`;
  const columns = width - visibleWidth(spinner) - visibleWidth(end);
  if (columns < 1) return ["", cutText(spinner, width)];
  return ["", `${spinner}${style.muted(cutText(text, columns))}${style.dim(end)}`];
}
