import type { AgentNotice, LifecycleEvents } from "@bonsai-agent/agent";
import { callPreview } from "@bonsai-agent/app/preview";
import { oneLine } from "@bonsai-agent/app/terminal-text";
import type { CompactionReason } from "@bonsai-agent/compaction";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { StreamEvent } from "@bonsai-agent/models";

/** What goes on, in words, and since when. */
export interface Doing {
  text: string;
  sinceMs: number;
}

/** Something that a key cancels: its text does not say so yet. */
interface Cancellable extends Doing {
  isCancellable: true;
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
  #compaction: Cancellable | undefined;
  #stopping: Doing | undefined;
  /** Of the user: a command, or a branch that is summarised. Its end is not always told. */
  #alone: Doing | Cancellable | undefined;
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
  setWorkingMessage(words: string | undefined): void {
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

  /** The one thing that tells most; undefined while nothing goes on. */
  doing(nowMs: number): Doing | undefined {
    const urgent = this.#stopping ?? this.#cancellableNow(nowMs) ?? this.#waitingFor(nowMs);
    if (urgent === undefined && this.#words !== undefined && this.#runSinceMs !== undefined)
      return { text: this.#words, sinceMs: this.#runSinceMs };
    const [wait] = this.#waits;
    const settled = urgent ?? wait ?? this.#running();
    if (settled !== undefined) return settled;
    if (this.#answer !== undefined) return this.#answer;
    return this.#runSinceMs === undefined ? undefined : { text: "Working…", sinceMs: this.#runSinceMs };
  }

  #cancellableNow(nowMs: number): Doing | undefined {
    const doing = this.#compaction ?? this.#alone;
    if (doing === undefined) return undefined;
    const { text, sinceMs } = doing;
    const [wait] = this.#waits;
    const behind = wait === undefined ? "" : ` · waiting for ${wait.who}`;
    if (!("isCancellable" in doing)) return { text: `${text}${behind}`, sinceMs };
    const retry = this.#retryNow(nowMs);
    const tries = retry && ` retry ${retry.attempt} of ${retry.maxAttempts} in ${retry.seconds}s`;
    const why = retry === undefined ? behind : ` · ${retry.why}`;
    return { text: `${text}${tries ?? ""} (${this.#cancelKey()} to cancel)${why}`, sinceMs };
  }

  #waitingFor(nowMs: number): Doing | undefined {
    const retry = this.#retryNow(nowMs);
    if (retry === undefined) return undefined;
    const { seconds, sinceMs, attempt, maxAttempts, why } = retry;
    return { text: `Retrying in ${seconds} s (${attempt}/${maxAttempts}): ${why}`, sinceMs };
  }

  /** The request that waits to be tried again. */
  #retryNow(nowMs: number): (Retry & { seconds: number; sinceMs: number }) | undefined {
    if (this.#retry === undefined || nowMs >= this.#retry.untilMs) return undefined;
    return { ...this.#retry, seconds: Math.ceil((this.#retry.untilMs - nowMs) / 1000) };
  }

  #running(): Doing | undefined {
    const [first] = this.#tools.values();
    if (first === undefined || this.#tools.size === 1)
      return first && { ...first, text: `Running ${first.text}` };
    return { text: `Running ${this.#tools.size} tools: ${this.#toolNames()}`, sinceMs: first.sinceMs };
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

/** A request that will be tried again. */
interface Retry {
  attempt: number;
  maxAttempts: number;
  delayMs: number;
  why: string;
}

const told = /^(?<why>[\s\S]*?) ?Retry (?<attempt>\d+) of (?<max>\d+) in (?<seconds>\d+) s\.$/;

/** What a notice says of a retry; undefined where it speaks of something else. */
export function retryOf({ code, message }: Pick<AgentNotice, "code" | "message">): Retry | undefined {
  if (code !== "model_retry") return undefined;
  const { why = "", attempt, max, seconds } = told.exec(message)?.groups ?? {};
  if (attempt === undefined) return undefined;
  return {
    attempt: Number(attempt),
    maxAttempts: Number(max),
    delayMs: Number(seconds) * 1000,
    why: oneLine(why, 160),
  };
}

interface FollowActivityOptions {
  lifecycle: Lifecycle<LifecycleEvents>;
  model: ActivityModel;
  now: () => number;
  /** Called after each change of the model. */
  changed: () => void;
}

/** Tells the model what the lifecycle tells. */
export function followActivity(options: FollowActivityOptions): void {
  followRun(options);
  followTools(options);
  followWork(options);
}

function followRun({ lifecycle, model, now, changed }: FollowActivityOptions): void {
  lifecycle.on("agent_start", () => {
    model.runBegan(now());
    changed();
  });
  for (const name of ["agent_end", "session_start", "session_shutdown"] as const)
    lifecycle.on(name, () => {
      model.ended();
      changed();
    });
  lifecycle.on("message_start", ({ message }) => {
    if (message.role !== "assistant") return;
    model.answerBegan(now());
    changed();
  });
  lifecycle.on("message_update", ({ assistantMessageEvent }) => {
    if (model.answerGrew(assistantMessageEvent, now())) changed();
  });
  lifecycle.on("message_stored", ({ message }) => {
    if (message.role === "assistant") model.answerEnded();
    else if (message.role === "bashExecution") model.aloneEnded();
    else return;
    changed();
  });
}

function followTools({ lifecycle, model, now, changed }: FollowActivityOptions): void {
  lifecycle.on("tool_execution_start", ({ toolCallId, toolName, args }) => {
    model.toolBegan({ id: toolCallId, name: toolName, args, nowMs: now() });
    changed();
  });
  lifecycle.on("tool_execution_end", ({ toolCallId }) => {
    model.toolEnded(toolCallId);
    changed();
  });
  lifecycle.on("user_bash", ({ command }) => {
    model.commandBegan(command, now());
    changed();
    return undefined;
  });
}

function followWork({ lifecycle, model, now, changed }: FollowActivityOptions): void {
  lifecycle.on("auto_compaction_start", ({ reason }) => {
    model.compactionBegan(reason, now());
    changed();
  });
  lifecycle.on("auto_compaction_end", () => {
    model.compactionEnded();
    changed();
  });
  lifecycle.on("session_before_tree", ({ preparation }) => {
    if (!preparation.userWantsSummary || preparation.entriesToSummarize.length === 0) return undefined;
    model.branchSummaryBegan(now());
    changed();
    return undefined;
  });
  lifecycle.on("session_tree", () => {
    model.aloneEnded();
    changed();
  });
}
