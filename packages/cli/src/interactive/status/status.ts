import { basename } from "node:path";
import type { AgentNotice, AgentState, LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle, SlowAnswer } from "@bonsai-agent/lifecycle";
import { oneLine } from "../../views/terminal-text.ts";
import { cutText } from "../terminal/fitted-lines.ts";
import { keys } from "../terminal/keys.ts";
import type { Screen } from "../terminal/screen.ts";
import type { Theme } from "../terminal/theme.ts";
import { ActivityLine } from "./activity-line.ts";
import { footerLines } from "./footer.ts";
import { FooterSource, type FooterSourceOptions } from "./footer-facts.ts";

interface StatusOptions extends Omit<FooterSourceOptions, "redraw"> {
  screen: Screen;
  /** Texts that have not reached the agent, also shown as queued. Default: none. */
  held?: () => readonly Queued[];
}

/** Shorter waits are not shown. */
const SHOW_WAIT_AFTER_MS = 1_000;

/** The activity line, the queued messages and the footer. */
export class Status {
  readonly #screen: Screen;
  readonly #options: StatusOptions;
  readonly #source: FooterSource;
  readonly activity: ActivityLine;
  #hinting: NodeJS.Timeout | undefined;

  constructor(options: StatusOptions) {
    const { screen, agent, held = () => [] } = options;
    const { theme } = screen;
    const redraw = () => screen.redraw();
    this.#screen = screen;
    this.#options = options;
    this.#source = new FooterSource({ ...options, redraw });
    this.activity = new ActivityLine({
      theme,
      now: Date.now,
      redraw,
      isBusy: () => agent()?.isBusy === true,
    });
    const queue = (): Queue => {
      const { steering, followUps } = (agent()?.hasPendingMessages && agent()?.state) || NO_QUEUE;
      return { steering: [...steering, ...held()], followUps };
    };
    const footer = (width: number) => {
      const { facts } = this.#source;
      return facts === undefined ? [] : footerLines(facts, width, theme);
    };
    screen.activity.addChild(this.activity);
    screen.activity.addChild({ render: (width) => queueLines(queue(), width, theme), invalidate() {} });
    screen.footer.addChild({ render: footer, invalidate() {} });
  }

  /** To be called before extensions listen, so that none of them delays the events. */
  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    this.activity.listen(lifecycle);
    this.#source.listen(lifecycle);
    for (const name of ["session_start", "session_info_changed"] as const)
      lifecycle.on(name, () => this.#retitle());
  }

  /** @returns true for a retry of a request: the activity line shows it, so the chat does not need to */
  showsRetry({ retry }: AgentNotice): boolean {
    if (retry !== undefined) this.activity.dispatch({ type: "retry", retry });
    return retry !== undefined;
  }

  /** To be called if a handler does not answer at once. @returns ends the wait */
  onSlowAnswer({ source, event }: SlowAnswer): () => void {
    let end = () => {};
    const begin = () => {
      const sinceMs = Date.now();
      return setTimeout(() => {
        // A handler that asks the user is not named.
        if (this.#screen.hasPanel) timer = begin();
        else end = this.activity.addWait({ handler: `${source} in ${event}`, sinceMs });
      }, SHOW_WAIT_AFTER_MS).unref();
    };
    let timer = begin();
    return () => {
      clearTimeout(timer);
      end();
    };
  }

  /** To be called when the context has changed without an event. */
  contextChanged(): void {
    this.#source.refresh();
  }

  /** Shows a line about a key for some time. */
  hint(text: string, forMs: number): void {
    this.#showHint(text);
    this.#hinting = setTimeout(() => this.#showHint(undefined), forMs).unref();
  }

  /** Shows a text if a task takes long. */
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

  stop(): void {
    this.#showHint(undefined);
    this.#source.stop();
    this.activity.stop();
  }

  #retitle(): void {
    const name = this.#options.agent()?.session.name ?? basename(this.#options.cwd);
    this.#screen.tui.terminal.setTitle(oneLine(`bonsai – ${name}`, 80));
  }
}

type Queued = Readonly<Pick<AgentState["steering"][number], "text">>;

export interface Queue {
  steering: readonly Queued[];
  followUps: readonly Queued[];
}

const NO_QUEUE: Queue = { steering: [], followUps: [] };

const MAX_SHOWN = 5;

/** The queued texts, one line each, and the key that moves them into the editor. */
export function queueLines({ steering, followUps }: Queue, width: number, { style }: Theme): string[] {
  const waiting = [
    ...steering.map(({ text }) => `Next: ${oneLine(text)}`),
    ...followUps.map(({ text }) => `Then: ${oneLine(text)}`),
  ];
  if (waiting.length === 0) return [];
  const shown = waiting.slice(0, waiting.length > MAX_SHOWN ? MAX_SHOWN - 1 : MAX_SHOWN);
  if (shown.length < waiting.length) shown.push(`and ${waiting.length - shown.length} more`);
  return [
    ...shown.map((text) => style.muted(cutText(` ${text}`, width))),
    style.dim(cutText(` ${keys.label("takeBackQueued")} edits queued messages`, width)),
  ];
}
