import type { CompactionReason } from "@bonsai-agent/compaction";
import type { StreamEvent } from "@bonsai-agent/models";
import { callPreview } from "../../preview.ts";
import { oneLine } from "../../views/printable.ts";
import type { Retry } from "./retry-notice.ts";

/** What goes on, in words, and since when. */
export interface Doing {
  text: string;
  sinceMs: number;
}

/**
 * Owner of what is going on, as far as its user should see it. Knows no terminal and no clock: whoever calls says what
 * time it is.
 */
export class ActivityModel {
  #runSinceMs: number | undefined;
  #answer: Doing | undefined;
  readonly #tools = new Map<string, Doing>();
  readonly #waits = new Set<Doing & { who: string }>();
  #retry: (Retry & { untilMs: number; sinceMs: number }) | undefined;
  #compaction: Doing | undefined;
  #stopping: Doing | undefined;
  /** Of the user: a command, or a branch that is summarised. Its end is not always told. */
  #alone: Doing | undefined;
  #words: string | undefined;
  readonly #cancelKey: () => string;

  /** @param cancelKey as it is shown; default `Esc` */
  constructor(cancelKey: () => string = () => "Esc") {
    this.#cancelKey = cancelKey;
  }

  runBegan(nowMs: number): void {
    this.#runSinceMs = nowMs;
    this.#stopping = undefined;
  }

  /** What is said in the place of what a run does; undefined: what it does. */
  say(words: string | undefined): void {
    this.#words = words === undefined ? undefined : oneLine(words, 160) || undefined;
  }

  /** Nothing goes on any longer, whatever was told before. */
  ended(): void {
    this.#runSinceMs = undefined;
    this.#answer = undefined;
    this.#tools.clear();
    this.#retry = undefined;
    this.#compaction = undefined;
    this.#alone = undefined;
    this.#stopping = undefined;
  }

  /** The user stops what goes on, which may take its time. */
  stopBegan(nowMs: number): void {
    this.#stopping ??= { text: "Stopping…", sinceMs: nowMs };
  }

  answerBegan(nowMs: number): void {
    this.#answer = { text: "Waiting for the model…", sinceMs: nowMs };
  }

  /** @returns true where that is news */
  answerGrew(event: StreamEvent, nowMs: number): boolean {
    const text = answering(event);
    if (text === undefined) return false;
    const isNews = this.#retry !== undefined || this.#answer?.text !== text;
    this.#retry = undefined;
    if (this.#answer?.text !== text) this.#answer = { text, sinceMs: nowMs };
    return isNews;
  }

  answerEnded(): void {
    this.#answer = undefined;
    this.#retry = undefined;
  }

  toolBegan({ id, name, args, nowMs }: { id: string; name: string; args: unknown; nowMs: number }): void {
    this.#tools.set(id, { text: callPreview(`${name}:`, args).replace(/:$/, ""), sinceMs: nowMs });
  }

  toolEnded(id: string): void {
    this.#tools.delete(id);
  }

  retries(retry: Retry, nowMs: number): void {
    this.#retry = { ...retry, sinceMs: nowMs, untilMs: nowMs + retry.delayMs };
  }

  compactionBegan(reason: CompactionReason, nowMs: number): void {
    this.#compaction = { text: this.#cancellable(compactionTexts[reason]), sinceMs: nowMs };
  }

  compactionEnded(): void {
    this.#compaction = undefined;
  }

  branchSummaryBegan(nowMs: number): void {
    this.#alone = { text: this.#cancellable("Summarising the branch…"), sinceMs: nowMs };
  }

  commandBegan(command: string, nowMs: number): void {
    this.#alone = { text: `Running ${oneLine(command, 160)}`, sinceMs: nowMs };
  }

  /** A command or a branch's summary has ended. */
  aloneEnded(): void {
    this.#alone = undefined;
    this.#stopping = undefined;
  }

  /** An extension has to answer before anything goes on. The function returned: it has, or nobody waits any longer. */
  waitBegan({ source, event, nowMs }: { source: string; event: string; nowMs: number }): () => void {
    const who = `${source} in ${event}`;
    const wait = { who, text: `Waiting for ${who}… (${this.#cancelKey()} to stop)`, sinceMs: nowMs };
    this.#waits.add(wait);
    return () => this.#waits.delete(wait);
  }

  /** The one thing that tells most; undefined while nothing goes on. */
  doing(nowMs: number): Doing | undefined {
    const urgent = this.#stopping ?? this.#cancellableNow() ?? this.#waitingFor(nowMs);
    if (urgent === undefined && this.#words !== undefined && this.#runSinceMs !== undefined)
      return { text: this.#words, sinceMs: this.#runSinceMs };
    const [wait] = this.#waits;
    const settled = urgent ?? wait ?? this.#running();
    if (settled !== undefined) return settled;
    if (this.#answer !== undefined) return this.#answer;
    return this.#runSinceMs === undefined ? undefined : { text: "Working…", sinceMs: this.#runSinceMs };
  }

  #cancellableNow(): Doing | undefined {
    const doing = this.#compaction ?? this.#alone;
    const [wait] = this.#waits;
    return doing && wait ? { ...doing, text: `${doing.text} · waiting for ${wait.who}` } : doing;
  }

  #waitingFor(nowMs: number): Doing | undefined {
    if (this.#retry === undefined || nowMs >= this.#retry.untilMs) return undefined;
    const { untilMs, sinceMs, attempt, maxAttempts, why } = this.#retry;
    const seconds = Math.ceil((untilMs - nowMs) / 1000);
    return { text: `Retrying in ${seconds} s (${attempt}/${maxAttempts}): ${why}`, sinceMs };
  }

  #running(): Doing | undefined {
    const [first] = this.#tools.values();
    if (first === undefined || this.#tools.size === 1)
      return first && { ...first, text: `Running ${first.text}` };
    return { text: `Running ${this.#tools.size} tools: ${this.#toolNames()}`, sinceMs: first.sinceMs };
  }

  #cancellable(text: string): string {
    return `${text} (${this.#cancelKey()} to cancel)`;
  }

  #toolNames(): string {
    return [...this.#tools.values()].map(({ text }) => text).join(" · ");
  }
}

const compactionTexts: Readonly<Record<CompactionReason, string>> = {
  threshold: "Auto-compacting...",
  overflow: "Context overflow detected, Auto-compacting...",
  manual: "Compacting...",
};

function answering(event: StreamEvent): string | undefined {
  if (event.type === "start") return "Waiting for the model…";
  if (event.type === "thinking") return "Thinking…";
  if (event.type === "text") return "Answering…";
  if (event.type !== "tool_call") return undefined;
  const block = event.message.content[event.contentIndex];
  return block?.type === "toolCall" && block.name !== ""
    ? `Preparing ${oneLine(block.name, 40)}…`
    : "Preparing a call…";
}
