import type { AgentNotice, LifecycleEvents } from "@bonsai-agent/agent";
import type { CompactionReason } from "@bonsai-agent/compaction";
import type { Handler, Lifecycle } from "@bonsai-agent/lifecycle";
import type { StreamEvent } from "@bonsai-agent/models";
import { callPreview } from "../../views/preview.ts";
import { oneLine } from "../../views/terminal-text.ts";

/** What goes on, in words. */
export interface Doing {
  text: string;
  /** Since when. Undefined where the text counts down: one clock is enough. */
  sinceMs: number | undefined;
  /** The key that stops it, where the text does not name one. */
  stopKey?: string | undefined;
}

/** Something that a key cancels: its text does not name the key yet. */
interface Cancellable extends Doing {
  isCancellable: true;
}

/**
 * Owner of what is going on, as far as its user should see it. Knows no terminal and no clock: whoever calls gives the
 * time it is.
 */
export class ActivityModel {
  #runSinceMs: number | undefined;
  #answer: Doing | undefined;
  readonly #tools = new Map<string, Doing>();
  readonly #waits = new Set<Doing & { who: string }>();
  #retry: (Retry & { untilMs: number }) | undefined;
  #compaction: Cancellable | undefined;
  #stopping: Doing | undefined;
  /** Of the user: a command, or a branch that is summarised. Not every event says when it ends. */
  #alone: Doing | Cancellable | undefined;
  #words: string | undefined;
  #isHidden = false;
  readonly #cancelKey: () => string;

  /** @param cancelKey as it is shown; default `Esc` */
  constructor(cancelKey: () => string = () => "Esc") {
    this.#cancelKey = cancelKey;
  }

  runBegan(nowMs: number): void {
    this.#runSinceMs = nowMs;
    this.#stopping = undefined;
  }

  /** Stands in the place of what a run does; undefined: what it does. */
  setWorkingMessage(words: string | undefined): void {
    this.#words = words === undefined ? undefined : oneLine(words, 160) || undefined;
  }

  /** False: only what a key would cancel, and what is waited for, is shown. */
  setVisible(isVisible: boolean): void {
    this.#isHidden = !isVisible;
  }

  /** Nothing goes on any longer, whatever has begun. */
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
    this.#retry = { ...retry, why: oneLine(retry.why, 160), untilMs: nowMs + retry.delayMs };
  }

  compactionBegan(reason: CompactionReason, nowMs: number): void {
    this.#retry = undefined;
    this.#compaction = { text: compactionTexts[reason], sinceMs: nowMs, isCancellable: true };
  }

  compactionEnded(): void {
    this.#compaction = undefined;
    this.#retry = undefined;
  }

  branchSummaryBegan(nowMs: number): void {
    this.#retry = undefined;
    this.#alone = { text: "Summarising the branch…", sinceMs: nowMs, isCancellable: true };
  }

  commandBegan(command: string, nowMs: number): void {
    this.#alone = { text: `Running ${oneLine(command, 160)}`, sinceMs: nowMs };
  }

  /** A command or a branch's summary has ended. */
  aloneEnded(): void {
    this.#alone = undefined;
    this.#retry = undefined;
    this.#stopping = undefined;
  }

  /** An extension has to answer before anything goes on. The function returned: it has, or nobody waits any longer. */
  waitBegan({ source, event, nowMs }: { source: string; event: string; nowMs: number }): () => void {
    const who = `${source} in ${event}`;
    const wait = { who, text: `Waiting for ${who}… (${this.#cancelKey()} to stop)`, sinceMs: nowMs };
    this.#waits.add(wait);
    return () => this.#waits.delete(wait);
  }

  /** The one thing that matters most; undefined while nothing goes on. */
  doing(nowMs: number): Doing | undefined {
    const alone = this.#stopping ?? this.#cancellableNow(nowMs);
    if (alone !== undefined) return alone;
    const hasWords = this.#words !== undefined && this.#runSinceMs !== undefined;
    const [wait] = this.#waits;
    const retry = this.#waitingFor(nowMs);
    if (retry === undefined && wait !== undefined && (this.#isHidden || !hasWords)) return wait;
    const doing = retry ?? (this.#isHidden ? undefined : this.#ofRun());
    return doing && { ...doing, stopKey: this.#cancelKey() };
  }

  #ofRun(): Doing | undefined {
    const working = this.#runSinceMs;
    if (working === undefined) return this.#running() ?? this.#answer;
    if (this.#words !== undefined) return { text: this.#words, sinceMs: working };
    return this.#running() ?? this.#answer ?? { text: "Working…", sinceMs: working };
  }

  #cancellableNow(nowMs: number): Doing | undefined {
    const doing = this.#compaction ?? this.#alone;
    if (doing === undefined) return undefined;
    const { text, sinceMs } = doing;
    const [wait] = this.#waits;
    const behind = wait === undefined ? "" : ` · waiting for ${wait.who}`;
    if (!("isCancellable" in doing)) return { text: `${text}${behind}`, sinceMs, stopKey: this.#cancelKey() };
    const retry = this.#retryNow(nowMs);
    const tries = retry && ` retry ${retry.attempt} of ${retry.maxAttempts} in ${retry.seconds} s`;
    const why = retry === undefined ? behind : ` · ${retry.why}`;
    return {
      text: `${text}${tries ?? ""} (${this.#cancelKey()} to cancel)${why}`,
      sinceMs: retry === undefined ? sinceMs : undefined,
    };
  }

  #waitingFor(nowMs: number): Doing | undefined {
    const retry = this.#retryNow(nowMs);
    if (retry === undefined) return undefined;
    const { seconds, attempt, maxAttempts, why } = retry;
    return { text: `Retrying in ${seconds} s (${attempt}/${maxAttempts}): ${why}`, sinceMs: undefined };
  }

  /** The request that waits to be tried again. */
  #retryNow(nowMs: number): (Retry & { seconds: number }) | undefined {
    if (this.#retry === undefined || nowMs >= this.#retry.untilMs) return undefined;
    return { ...this.#retry, seconds: Math.ceil((this.#retry.untilMs - nowMs) / 1000) };
  }

  #running(): Doing | undefined {
    const [first] = this.#tools.values();
    if (first === undefined || this.#tools.size === 1)
      return first && { ...first, text: `Running ${first.text}` };
    const names = [...this.#tools.values()].map(({ text }) => text).join(" · ");
    return { text: `Running ${this.#tools.size} tools: ${names}`, sinceMs: first.sinceMs };
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
    : "Preparing a tool call…";
}

type Retry = NonNullable<AgentNotice["retry"]>;

interface FollowActivityOptions {
  lifecycle: Lifecycle<LifecycleEvents>;
  model: ActivityModel;
  now: () => number;
  /** Called after each change of the model. */
  changed: () => void;
}

/** Brings what the events report into the model. */
export function followActivity({ lifecycle, model, now, changed }: FollowActivityOptions): void {
  type Payload<Name extends keyof LifecycleEvents> = Parameters<Handler<LifecycleEvents[Name]>>[0];
  /** @param handle false where nothing has changed */
  const on = <Name extends keyof LifecycleEvents>(name: Name, handle: (event: Payload<Name>) => unknown) =>
    lifecycle.on(name, ((event: Payload<Name>) => {
      if (handle(event) !== false) changed();
    }) as Handler<LifecycleEvents[Name]>);
  on("agent_start", () => model.runBegan(now()));
  for (const name of ["agent_end", "session_start", "session_shutdown"] as const)
    on(name, () => model.ended());
  on("message_start", ({ message }) => message.role === "assistant" && model.answerBegan(now()));
  on("message_update", ({ assistantMessageEvent }) => model.answerGrew(assistantMessageEvent, now()));
  on("message_stored", ({ message }) => {
    if (message.role === "assistant") return model.answerEnded();
    return message.role === "bashExecution" && model.aloneEnded();
  });
  on("tool_execution_start", ({ toolCallId: id, toolName: name, args }) =>
    model.toolBegan({ id, name, args, nowMs: now() }),
  );
  on("tool_execution_end", ({ toolCallId }) => model.toolEnded(toolCallId));
  on("user_bash", ({ command }) => model.commandBegan(command, now()));
  on("auto_compaction_start", ({ reason }) => model.compactionBegan(reason, now()));
  on("auto_compaction_end", () => model.compactionEnded());
  on(
    "session_before_tree",
    ({ preparation: { userWantsSummary, entriesToSummarize } }) =>
      userWantsSummary && entriesToSummarize.length > 0 && model.branchSummaryBegan(now()),
  );
  on("session_tree", () => model.aloneEnded());
}
