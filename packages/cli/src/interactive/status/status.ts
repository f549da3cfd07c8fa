import { basename } from "node:path";
import type { AgentNotice, AgentState, LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle, SlowAnswer } from "@bonsai-agent/lifecycle";
import { oneLine } from "../../views/terminal-text.ts";
import { cutText } from "../terminal/fitted-lines.ts";
import { keys } from "../terminal/keys.ts";
import type { Screen } from "../terminal/screen.ts";
import type { Theme } from "../terminal/theme.ts";
import type { Component } from "../terminal/tui.ts";
import { ActivityLine, type SpinnerLooks } from "./activity-line.ts";
import { ActivityModel, followActivity } from "./activity-model.ts";
import { Footer } from "./footer.ts";
import { FooterSource, type FooterSourceOptions } from "./footer-source.ts";

interface StatusOptions extends Omit<FooterSourceOptions, "redraw"> {
  screen: Screen;
  /** What was typed and has not reached the agent: shown as queued too. Default: nothing. */
  held?: () => readonly Held[];
  /** Default `Date.now`. */
  now?: () => number;
}

/** A session that is opened is shown before its whole file is read for what it cost. */
const COST_AFTER_MS = 200;

/** What takes less is not worth a line. */
const SHOW_WAIT_AFTER_MS = 1_000;

/** What goes on, what is queued, and the footer: puts them on the screen and keeps them true. */
export class Status {
  readonly #screen: Screen;
  readonly #options: StatusOptions;
  readonly #now: () => number;
  readonly #source: FooterSource;
  readonly #model = new ActivityModel(() => keys.label("interrupt"));
  readonly #line: ActivityLine;
  #hinting: NodeJS.Timeout | undefined;
  #bringing: NodeJS.Timeout | undefined;

  constructor(options: StatusOptions) {
    const { screen, agent, held, now = Date.now } = options;
    const { theme } = screen;
    const redraw = () => screen.redraw();
    this.#screen = screen;
    this.#options = options;
    this.#now = now;
    this.#source = new FooterSource({ ...options, redraw });
    this.#line = new ActivityLine({
      model: this.#model,
      theme,
      now,
      redraw,
      isBusy: () => agent()?.isBusy === true,
    });
    const queue = () => (agent()?.hasPendingMessages === true ? agent()?.state : undefined);
    const takeBackKey = () => keys.label("takeBackQueued");
    screen.activity.addChild(this.#line);
    screen.activity.addChild(new QueueLines({ queue, held, theme, takeBackKey }));
    screen.footer.addChild(new Footer(() => this.#source.facts, theme));
  }

  /** Before extensions listen, so that nothing of theirs is in between. */
  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    const changed = () => this.#line.changed();
    followActivity({ lifecycle, model: this.#model, now: this.#now, changed });
    this.#source.listen(lifecycle);
    lifecycle.on("session_start", ({ reason }) => {
      this.#retitle();
      if (reason !== "reload") this.#bringCost();
    });
    lifecycle.on("session_info_changed", () => this.#retitle());
  }

  /** @returns true for a retry of a request: it is shown here, and needs no line in the chat */
  showsRetry({ retry }: AgentNotice): boolean {
    if (retry === undefined) return false;
    this.#model.retries(retry, this.#now());
    this.#line.changed();
    return true;
  }

  /** What stands beside the spinner while a run goes on; undefined: what it does. */
  setWorkingMessage(words: string | undefined): void {
    this.#model.setWorkingMessage(words);
    this.#line.changed();
  }

  /** The sign that turns beside it; undefined: ours. */
  setWorkingIndicator(indicator: SpinnerLooks | undefined): void {
    this.#line.setSpinner(indicator);
  }

  /** False hides the line of a run, but for what the user has to know. */
  setWorkingVisible(isVisible: boolean): void {
    this.#model.setVisible(isVisible);
    this.#line.changed();
  }

  /** To be called when the user stops what goes on. */
  stopBegan(): void {
    this.#model.stopBegan(this.#now());
    this.#line.changed();
  }

  /** To be called when a handler does not answer at once; the function returned, when it is waited for no longer. */
  onSlowAnswer({ source, event }: SlowAnswer): () => void {
    let end: (() => void) | undefined;
    const begin = () => {
      const begunMs = this.#now();
      return setTimeout(() => {
        // Whom the user has to answer needs no words.
        if (this.#screen.hasPanel) timer = begin();
        else end = this.#model.waitBegan({ source, event, nowMs: begunMs });
        this.#line.changed();
      }, SHOW_WAIT_AFTER_MS).unref();
    };
    let timer = begin();
    return () => {
      clearTimeout(timer);
      if (end === undefined) return;
      end();
      this.#line.changed();
    };
  }

  /** To be called when the messages of a session that was opened have been counted. */
  contextCounted(): void {
    this.#source.contextCounted();
  }

  /** To be called when the context has changed without an event. */
  contextChanged(): void {
    this.#source.refresh();
  }

  /** Shows for so long a line about what a key would do. */
  hint(text: string, forMs: number): void {
    this.#showHint(text);
    this.#hinting = setTimeout(() => this.#showHint(undefined), forMs).unref();
  }

  /** Says what is waited for, where it takes its time. */
  async during<Value>(text: string, task: Promise<Value>): Promise<Value> {
    const timer = setTimeout(() => this.#showHint(text), SHOW_WAIT_AFTER_MS).unref();
    try {
      return await task;
    } finally {
      clearTimeout(timer);
      this.#showHint(undefined);
    }
  }

  #showHint(text: string | undefined): void {
    clearTimeout(this.#hinting);
    this.#screen.footer.setHint(text);
    this.#screen.redraw();
  }

  /** Ends the timers. */
  stop(): void {
    this.#showHint(undefined);
    clearTimeout(this.#bringing);
    this.#source.cost.stop();
    this.#line.stop();
  }

  #bringCost(): void {
    clearTimeout(this.#bringing);
    this.#bringing = setTimeout(() => {
      const session = this.#options.agent()?.session;
      if (session?.leafId == null) return;
      this.#source.cost.bring(session, () => this.#source.refresh());
    }, COST_AFTER_MS).unref();
  }

  #retitle(): void {
    const name = this.#options.agent()?.session.name ?? basename(this.#options.cwd);
    this.#screen.tui.terminal.setTitle(oneLine(`bonsai – ${name}`, 80));
  }
}

export type Queue = Pick<AgentState, "steering" | "followUps">;

/** A text on its way to the agent. */
export type Held = Readonly<Pick<AgentState["steering"][number], "text">>;

/** More than these are counted, not shown. */
const MAX_SHOWN = 5;

interface QueueLinesOptions {
  queue: () => Queue | undefined;
  /** Texts that have not reached the agent. Default: none. */
  held?: (() => readonly Held[]) | undefined;
  theme: Theme;
  takeBackKey: () => string;
}

/** The queued texts, one line each, and the key that restores them. */
export class QueueLines implements Component {
  readonly #options: QueueLinesOptions;

  constructor(options: QueueLinesOptions) {
    this.#options = options;
  }

  render(width: number): string[] {
    const { queue, held = () => [], theme, takeBackKey } = this.#options;
    const { steering = [], followUps = [] } = queue() ?? {};
    const waiting = [
      ...steering.map(({ text }) => `Next: ${oneLine(text)}`),
      ...followUps.map(({ text }) => `Then: ${oneLine(text)}`),
      ...held().map(({ text }) => `Next: ${oneLine(text)}`),
    ];
    if (waiting.length === 0) return [];
    const shown = waiting.slice(0, waiting.length > MAX_SHOWN ? MAX_SHOWN - 1 : MAX_SHOWN);
    if (shown.length < waiting.length) shown.push(`and ${waiting.length - shown.length} more`);
    return [
      ...shown.map((text) => theme.style.muted(cutText(` ${text}`, width))),
      theme.style.dim(cutText(` ${takeBackKey()} edits queued messages`, width)),
    ];
  }

  invalidate(): void {}
}
