import type { AgentState } from "@bonsai-agent/agent";
import { oneLine } from "../../views/terminal-text.ts";
import { cutText } from "../terminal/fitted-lines.ts";
import type { Theme } from "../terminal/theme.ts";
import type { Component } from "../terminal/tui.ts";

export type Queue = Pick<AgentState, "steering" | "followUps">;

/** A text on its way to the agent. */
export type Held = Readonly<Pick<AgentState["steering"][number], "text">>;

/** More than these are counted, not shown. */
const MAX_SHOWN = 5;

interface QueueLinesOptions {
  queue: () => Queue | undefined;
  /** What has not reached the agent. Default: nothing. */
  held?: (() => readonly Held[]) | undefined;
  theme: Theme;
  /** As it is shown, like `Alt-↑`. */
  takeBackKey: () => string;
}

/** What waits for the agent, a line each, and how to have it back; nothing while nothing waits. */
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
