import {
  type BranchMerge,
  type CompactionOutcome,
  digestSummariser,
  type ManualCompaction,
  mergeBranch,
  type Navigation,
  navigateTree,
} from "@bonsai-agent/compaction";
import type { BackgroundCounts, NavigateTreeOptions } from "@bonsai-agent/compaction/host";
import type { PayloadOf } from "@bonsai-agent/lifecycle";
import { type BashExecutionMessage, BonsaiError } from "@bonsai-agent/messages";
import type { CatalogueModel, ThinkingLevel } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import { type AgentOptions, type AgentParts, agentParts, type PromptOptions } from "./agent-parts.ts";
import { type AgentState, stateOf } from "./agent-state.ts";
import type { RunCommand, SessionStartReason } from "./events.ts";
import type { LifecycleEvents } from "./lifecycle.ts";
import { messageOf } from "./notice.ts";
import { Activity, type ActivityKind } from "./run/activity.ts";
import { RunCompactions } from "./run/compactions.ts";
import { PromptRunner } from "./run/prompt-runner.ts";
import {
  type CustomInput,
  checkedMessage,
  type QueueDelivery,
  type QueuedInput,
  type RunFollower,
  type RunResult,
  type SendMessageOptions,
  type StreamingBehavior,
} from "./run/queue.ts";
import { runUserCommand, type UserCommandOptions } from "./run/user-command.ts";
import type { AgentSettings } from "./settings.ts";
import type { ToolRegistry } from "./tools/tool-registry.ts";

/** One session at work. Behind it each part owns one thing. */
export class Agent {
  readonly #parts: AgentParts;
  readonly #compaction: RunCompactions;
  readonly #activity: Activity;
  readonly #promptRunner: PromptRunner;
  readonly #followers: readonly RunFollower[];
  readonly #runCommand: RunCommand;
  readonly #onClose: () => void;
  #closed: Promise<void> | undefined;

  constructor(options: AgentOptions) {
    const { followers = [], runCommand = refuseCommand, onClose = () => {} } = options;
    this.#parts = agentParts(options);
    this.#compaction = new RunCompactions(this.#parts);
    this.#activity = new Activity(this.#parts.abortGrace, (ended) => this.#promptRunner.ended(ended));
    this.#promptRunner = new PromptRunner({
      parts: this.#parts,
      compaction: this.#compaction,
      activity: this.#activity,
      onEnd: (messages, result) => this.#follow({ messages, result }),
    });
    this.#followers = followers;
    this.#runCommand = runCommand;
    this.#onClose = onClose;
  }

  /** The session; `close` closes it. */
  get session(): Session {
    return this.#parts.session;
  }

  /** The tools, and which of them the model is offered; a change holds from the next request on. */
  get tools(): ToolRegistry {
    return this.#parts.tools;
  }

  /** The model in use, with what its server has taught about its window. */
  get model(): CatalogueModel {
    return this.#parts.selection.model;
  }

  get settings(): AgentSettings {
    return this.#parts.settings;
  }

  /** True while anything is going on. */
  get isBusy(): boolean {
    return this.#activity.kind !== undefined;
  }

  /** True for a handler or a tool that the agent waits for: if it waited for the agent in turn, both would for ever. */
  get isWaitingForCaller(): boolean {
    return this.#parts.handlerCalls.isInside;
  }

  /** True while a compaction is under way, whoever asked for it. */
  get isCompacting(): boolean {
    return this.#compaction.isRunning;
  }

  /** Summaries that are made while it works: whether one is under way, and what became of the others. */
  get background(): BackgroundCounts {
    return this.#parts.controller.background;
  }

  /** Aborted when what goes on is stopped; undefined while nothing goes on. */
  get signal(): AbortSignal | undefined {
    return this.#activity.signal;
  }

  /** The system prompt: during a run with the changes of extensions, otherwise as the next run would begin. */
  get systemPrompt(): string {
    return this.#parts.systemPrompt.current;
  }

  /** The messages that wait to be stored: what waits for the user's next prompt, then the others, oldest first. */
  get waitingMessages(): readonly CustomInput[] {
    return this.#parts.queue.messages;
  }

  /** True while texts or messages wait to be said; what waits for the user's next prompt does not count. */
  get hasPendingMessages(): boolean {
    return !this.#parts.queue.isEmpty;
  }

  /**
   * Sends a text and resolves when the agent has nothing more to do. While a run is under way the text is queued as
   * `behavior` says, and the promise is that of this run. While anything else is going on it waits, and the promise is
   * that of the run that follows: the first text that waited is its prompt, the others are queued. What goes wrong on
   * the way is in the result. A handler or a tool that awaits it, for which the run waits in turn, gets `queued`.
   * @throws BonsaiError `agent_busy` during a run without a behavior, `agent_closed`.
   */
  async prompt(
    text: string,
    { source = "print", behavior, ...more }: PromptOptions = {},
  ): Promise<RunResult> {
    this.#checkOpen();
    return this.#promptRunner.prompt({ text, source, ...more }, behavior);
  }

  /**
   * Stops whatever is going on; resolves when the agent is idle, and at once for a handler or a tool that awaits it.
   * What was queued is in the run's result, as unsent. At rest, handlers that hang, as in
   * `model_select`, are waited for no longer.
   */
  abort(): Promise<void> {
    return this.#parts.handlerCalls.awaited(this.#activity.abort(), undefined);
  }

  /** Cancels a compaction that is under way, and nothing else: the task goes on uncompacted. */
  cancelCompaction(): void {
    this.#compaction.cancel();
  }

  /** Takes back what is queued, oldest first. */
  clearQueue(): QueuedInput[] {
    return this.#promptRunner.clear();
  }

  /** How many of the texts that wait are delivered together. Default: each alone. */
  get queueDelivery(): Readonly<Record<StreamingBehavior, QueueDelivery>> {
    return this.#parts.queue.delivery;
  }

  setQueueDelivery(behavior: StreamingBehavior, delivery: QueueDelivery): void {
    this.#parts.queue.delivery[behavior] = delivery;
  }

  /** Resolves when the agent has nothing to do. */
  idle(): Promise<void> {
    return this.#activity.idle();
  }

  /** Compacts now. @throws BonsaiError `agent_busy`, `agent_closed`. */
  async compact(options: CompactOptions = {}): Promise<CompactionOutcome> {
    return this.#alone("compaction", (signal) => this.#compaction.manual(options, signal));
  }

  /**
   * Compacts for the reason `manual` as soon as that can be: at once when the agent is idle; during a run at its next
   * place (before its next request, or after its last answer), and the run goes on. A second request while one waits or
   * runs gets the outcome of the first, unless it wants the digest: then the first is cancelled. Never rejects: the
   * outcome is `cancelled` if the user stops the work before. Handlers and tools must not await it.
   * @throws BonsaiError `agent_closed`, as a rejection.
   */
  async requestCompaction(options: CompactOptions = {}): Promise<CompactionOutcome> {
    this.#checkOpen();
    if (this.#activity.kind !== undefined) return this.#compaction.request(options);
    return this.#activity.begin("compaction", (signal) => this.#compaction.manual(options, signal));
  }

  /**
   * Puts a message of an extension into the conversation. Resolves with the result of the run that it starts or joins,
   * and with undefined where it was stored at once or waits for the user's next prompt.
   * @throws BonsaiError `agent_closed`, `custom_message_invalid`, as a rejection.
   */
  async sendMessage(message: CustomInput, options: SendMessageOptions = {}): Promise<RunResult | undefined> {
    this.#checkOpen();
    return this.#promptRunner.send(checkedMessage(message), options);
  }

  /**
   * Moves to another place in the tree, as `/tree` does.
   * @throws BonsaiError `agent_busy`, `agent_closed`, and what `navigateTree` throws; then nothing has changed.
   */
  async navigate(targetId: string, options: NavigateOptions = {}): Promise<Navigation> {
    const { useDigest = false, signal: outer, ...given } = options;
    const move = (signal: AbortSignal) =>
      navigateTree({ ...given, ...this.#branchSummary(useDigest), targetId, signal });
    return this.#alone("navigation", move, outer);
  }

  /**
   * Brings the outcome of another branch here, as `/merge` does: its summary becomes an entry under the leaf.
   * @throws BonsaiError `agent_busy`, `agent_closed`, and what `mergeBranch` throws; then nothing has changed.
   */
  async merge(branchId: string, options: MergeOptions = {}): Promise<BranchMerge> {
    const { useDigest = false, signal: outer, ...given } = options;
    const merge = (signal: AbortSignal) =>
      mergeBranch({ ...given, ...this.#branchSummary(useDigest), branchId, signal });
    return this.#alone("navigation", merge, outer);
  }

  /** How the summary of a branch is made now. */
  #branchSummary(useDigest: boolean) {
    const { session, settings, selection, summariser, events } = this.#parts;
    return {
      session,
      settings: settings.compaction,
      summariser: useDigest ? digestSummariser() : summariser,
      model: selection.model,
      lifecycle: events,
    };
  }

  /**
   * Runs what the user typed behind `!` (or `!!`: kept out of the context) and stores it with its output.
   * @throws BonsaiError `agent_busy`, `agent_closed`, `command_blocked`, `command_failed`, and what appending throws.
   */
  async runUserCommand(command: string, options: UserCommandOptions = {}): Promise<BashExecutionMessage> {
    const where = { parts: this.#parts, runCommand: this.#runCommand };
    const run = (signal: AbortSignal) => runUserCommand(where, command, { ...options, signal });
    return this.#alone("command", run, options.signal);
  }

  /**
   * Fires `session_start`; front ends call it once, before the first prompt. With a signal, handlers are waited for only
   * as long as that is not aborted.
   */
  start(
    reason: SessionStartReason = "startup",
    { previousSessionFile, signal }: { previousSessionFile?: string | undefined; signal?: AbortSignal } = {},
  ): Promise<void> {
    const previous = previousSessionFile === undefined ? {} : { previousSessionFile };
    const event = { type: "session_start" as const, reason, ...previous };
    return this.#parts.events.notify("session_start", event, signal && { signal });
  }

  /**
   * Stops the work, fires `session_shutdown`, whose handlers have five seconds, and ends the use of the session. A second
   * call does nothing; its promise is that of the first.
   */
  close(
    reason: "quit" | "reload" | "new" | "resume" | "fork" = "quit",
    { targetSessionFile }: { targetSessionFile?: string | undefined } = {},
  ): Promise<void> {
    this.#closed ??= this.#close({
      reason,
      ...(targetSessionFile === undefined ? {} : { targetSessionFile }),
    });
    return this.#closed;
  }

  async #close(why: Omit<PayloadOf<LifecycleEvents["session_shutdown"]>, "type">): Promise<void> {
    const { events, abortGrace, controller } = this.#parts;
    await this.#activity.abort();
    controller.abandonBackground("The session is closed.");
    abortGrace.begin();
    // Messages that waited are stored after an abort.
    await this.#activity.idle();
    await events.notify("session_shutdown", { type: "session_shutdown", ...why });
    abortGrace.reset();
    for (const follower of this.#followers) await follower.close();
    this.#onClose();
    this.session.close();
  }

  /** All that front ends show, as of now. */
  get state(): AgentState {
    return stateOf(this.#parts, { isBusy: this.isBusy, isCompacting: this.isCompacting });
  }

  /** Holds from the next request on, also in the middle of a run. */
  setModel(model: CatalogueModel): Promise<void> {
    this.#parts.controller.modelChanged();
    return this.#parts.selection.setModel(model);
  }

  /** Holds from the next request on, also in the middle of a run. */
  setThinking(level: ThinkingLevel): Promise<void> {
    return this.#parts.selection.setThinking(level);
  }

  /** Holds from the next look at the context on, also in the middle of a run; for sub-agents that begin later too. */
  setCompactionSettings(compaction: AgentSettings["compaction"]): void {
    this.#parts.settings = { ...this.#parts.settings, compaction };
    // Budgets are others now, as with another model: what did not help before may help.
    this.#parts.controller.modelChanged();
  }

  async #alone<Result>(
    kind: ActivityKind,
    work: (signal: AbortSignal) => Promise<Result>,
    outer?: AbortSignal,
  ): Promise<Result> {
    this.#checkOpen();
    // A message is stored in a moment, unless it is its own handler that asks.
    if (this.#activity.kind === "message" && !this.#parts.handlerCalls.isInside) await this.#activity.idle();
    return this.#activity.begin(kind, work, outer);
  }

  /** A follower that throws breaks nothing. */
  #follow(run: Parameters<RunFollower["runEnded"]>[0]): void {
    for (const follower of this.#followers) {
      try {
        follower.runEnded(run);
      } catch (error) {
        const message = `The run ended, but a task after it failed: ${messageOf(error)}`;
        this.#parts.onNotice({ level: "warning", code: "follower_failed", message });
      }
    }
  }

  #checkOpen(): void {
    if (this.#closed === undefined) return;
    throw new BonsaiError({
      code: "agent_closed",
      message: "The agent and its session are closed.",
      hint: "Open the session again.",
    });
  }
}

function refuseCommand(): Promise<never> {
  return Promise.reject(new Error("This agent has no shell."));
}

/** Options of a requested compaction. */
export type CompactOptions = Pick<
  ManualCompaction,
  "focus" | "useDigest" | "asksAgain" | "firstKeptEntryId" | "isAgain"
>;

/** Options of a move in the tree. */
export interface NavigateOptions
  extends Pick<NavigateTreeOptions, "summarise" | "focus" | "replaceInstructions" | "label" | "signal"> {
  /** The digest summarises, also if there is a model. Default false. */
  useDigest?: boolean;
}

/** Options of a merge. */
export type MergeOptions = Omit<NavigateOptions, "summarise">;
