import {
  type BranchMerge,
  type CompactionController,
  type CompactionOutcome,
  digestSummariser,
  type ManualCompaction,
  mergeBranch,
  type Navigation,
  navigateTree,
  type Summariser,
} from "@bonsai-agent/compaction";
import type { PayloadOf } from "@bonsai-agent/lifecycle";
import { type BashExecutionMessage, BonsaiError } from "@bonsai-agent/messages";
import type { CatalogueModel, ThinkingLevel } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { CustomInput, RunResult, SessionStartReason, StreamingBehavior } from "./events.ts";
import type { LifecycleEvents } from "./lifecycle.ts";
import { branchSummaryAsText, messageOf } from "./notice.ts";
import {
  type AgentOptions,
  type AgentParts,
  agentParts,
  onlyFirst,
  type PromptOptions,
} from "./run/agent-parts.ts";
import { type AgentState, stateOf } from "./run/agent-state.ts";
import { RunCompactions } from "./run/compactions.ts";
import { KeepWarm } from "./run/keep-warm.ts";
import { type Activity, type ActivityKind, PromptRunner } from "./run/prompt-runner.ts";
import {
  checkedMessage,
  type QueueDelivery,
  type QueuedInput,
  type RunFollower,
  type SendMessageOptions,
} from "./run/queue.ts";
import { runUserCommand, type UserCommandOptions } from "./run/user-command.ts";
import type { AgentSettings } from "./settings.ts";
import type { ToolRegistry } from "./tools/tool-registry.ts";

/** Runs the work of one session. */
export class Agent {
  readonly #parts: AgentParts;
  readonly #compaction: RunCompactions;
  readonly #promptRunner: PromptRunner;
  readonly #followers: readonly RunFollower[];
  readonly #onClose: AgentOptions["onClose"];
  readonly #notifyBranchAsText: AgentParts["onNotice"];
  #closed: Promise<void> | undefined;

  constructor(options: AgentOptions) {
    this.#onClose = options.onClose;
    this.#parts = agentParts(options);
    this.#notifyBranchAsText = onlyFirst(this.#parts.onNotice);
    this.#compaction = new RunCompactions(this.#parts);
    const keepWarm = options.isSubAgent ? [] : [new KeepWarm(this.#parts, () => this.isBusy)];
    this.#followers = [...(options.followers ?? []), ...keepWarm];
    this.#promptRunner = new PromptRunner({
      ...{ parts: this.#parts, compaction: this.#compaction },
      onEnd: (messages, result) => this.#follow({ messages, result }),
    });
  }

  get #activity(): Activity {
    return this.#promptRunner.activity;
  }

  /** The session; `close` closes it. */
  get session(): Session {
    return this.#parts.session;
  }

  /** The registered and the active tools. A change applies from the next request. */
  get tools(): ToolRegistry {
    return this.#parts.tools;
  }

  /** The selected model, with the window that its server has reported. */
  get model(): CatalogueModel {
    return this.#parts.selection.model;
  }

  /** Summarises with the selected model. */
  get summariser(): Summariser {
    return this.#parts.summariser;
  }

  get settings(): AgentSettings {
    return this.#parts.settings;
  }

  /** True during any work. */
  get isBusy(): boolean {
    return this.#activity.kind !== undefined;
  }

  /** True inside a handler or a tool that the agent waits for. If it waited for the agent, both would wait for ever. */
  get isWaitingForCaller(): boolean {
    return this.#parts.handlerCalls.isInside;
  }

  /** True during any compaction. */
  get isCompacting(): boolean {
    return this.#compaction.isRunning;
  }

  /** True while a background summary is being made, or waits to be written. */
  get isCompactingInBackground(): boolean {
    return this.#parts.controller.isDraftUnderway;
  }

  /** Aborted when the current work is stopped; undefined without work. */
  get signal(): AbortSignal | undefined {
    return this.#activity.signal;
  }

  /** How full the context is, compared with the threshold. Undefined without a threshold. */
  get budget(): ReturnType<CompactionController["budget"]> {
    return this.#parts.controller.budget();
  }

  /** The system prompt: during a run with the changes of extensions, otherwise as the next run would begin. */
  get systemPrompt(): string {
    return this.#parts.systemPrompt.current;
  }

  /** Messages to be stored: those for the user's next prompt, then the others, oldest first. */
  get waitingMessages(): readonly CustomInput[] {
    return this.#parts.queue.messages;
  }

  /** True while texts or messages wait. Ignores messages for the user's next prompt. */
  get hasPendingMessages(): boolean {
    return !this.#parts.queue.isEmpty;
  }

  /**
   * Sends a text and resolves at the end of its run. During a run, the text is queued as `behavior` says and belongs to
   * that run. During other work it waits for the next run: the first waiting text is its prompt, the others are queued.
   * Failures are in the result. A handler or a tool that awaits it, while the run waits for that handler, gets `queued`.
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
   * Stops all work. Resolves when the agent is idle, and at once inside a handler or a tool.
   * The run's result contains the queued texts as `unsent`. Without work, it stops waiting for hanging handlers, such as
   * those of `model_select`.
   */
  abort(): Promise<void> {
    return this.#parts.handlerCalls.awaited(this.#activity.abort(), undefined);
  }

  /** Cancels the current compaction. The task continues without it. */
  cancelCompaction(): void {
    this.#compaction.cancel();
  }

  /** Removes and returns the queued texts, oldest first. */
  clearQueue(): QueuedInput[] {
    return this.#promptRunner.clear();
  }

  /** Number of waiting texts that are delivered together. Default: one at a time. */
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
   * Compacts as soon as possible: at once, or during a run before its next request or after its last answer; the run then
   * continues. A second request beside another one gets its outcome, unless it wants the digest: then the first is
   * cancelled. The outcome is `cancelled` if the user stops the work before. Handlers and tools must not await it.
   * @throws BonsaiError `agent_closed`, as a rejection.
   */
  async requestCompaction(options: CompactOptions = {}): Promise<CompactionOutcome> {
    this.#checkOpen();
    if (this.#activity.kind !== undefined) return this.#compaction.request(options);
    return this.#activity.begin("compaction", (signal) => this.#compaction.manual(options, signal));
  }

  /**
   * Adds a message of an extension to the conversation. Resolves with the result of the run that it starts or joins; with
   * undefined if it was stored at once, or waits for the user's next prompt.
   * @throws BonsaiError `agent_closed`, `custom_message_invalid`, as a rejection.
   */
  async sendMessage(message: CustomInput, options: SendMessageOptions = {}): Promise<RunResult | undefined> {
    this.#checkOpen();
    return this.#promptRunner.send(checkedMessage(message), options);
  }

  /**
   * Moves to another entry in the tree, as `/tree` does.
   * @throws BonsaiError `agent_busy`, `agent_closed`, and what `navigateTree` throws; then nothing has changed.
   */
  async navigate(targetId: string, options: NavigateOptions = {}): Promise<Navigation> {
    const move = (signal: AbortSignal) => navigateTree({ ...this.#branchOptions(options), targetId, signal });
    return this.#alone("navigation", move, options.signal);
  }

  /**
   * Summarises another branch into this one, as `/merge` does: the summary becomes an entry under the leaf.
   * @throws BonsaiError `agent_busy`, `agent_closed`, and what `mergeBranch` throws; then nothing has changed.
   */
  async merge(branchId: string, options: MergeOptions = {}): Promise<BranchMerge> {
    const merge = (signal: AbortSignal) => mergeBranch({ ...this.#branchOptions(options), branchId, signal });
    return this.#alone("navigation", merge, options.signal);
  }

  #branchOptions({ useDigest = false, ...given }: NavigateOptions) {
    const { session, settings, selection, summariser, events: lifecycle } = this.#parts;
    return {
      ...{ ...given, session, settings: settings.compaction, model: selection.model, lifecycle },
      summariser: useDigest ? digestSummariser() : summariser,
      onProviderUnavailable: (reason: string) => {
        const notice = branchSummaryAsText(reason);
        this.#notifyBranchAsText({
          ...notice,
          message: `${notice.message} Bonsai shows this notice only once.`,
        });
      },
    };
  }

  /**
   * Runs a command that the user typed after `!` (or `!!`: kept out of the context) and stores it with its output.
   * @throws BonsaiError `agent_busy`, `agent_closed`, `command_blocked`, `command_failed`, and what appending throws.
   */
  async runUserCommand(command: string, options: UserCommandOptions = {}): Promise<BashExecutionMessage> {
    const run = (signal: AbortSignal) => runUserCommand(this.#parts, command, { ...options, signal });
    return this.#alone("command", run, options.signal);
  }

  /** Fires `session_start`. Front ends call it once, before the first prompt. A signal ends the wait for handlers. */
  start(
    reason: SessionStartReason = "startup",
    { previousSessionFile, signal }: { previousSessionFile?: string | undefined; signal?: AbortSignal } = {},
  ): Promise<void> {
    const previous = previousSessionFile === undefined ? {} : { previousSessionFile };
    const event = { type: "session_start" as const, reason, ...previous };
    return this.#parts.events.notify("session_start", event, signal && { signal });
  }

  /** Stops the work, fires `session_shutdown` and closes the session. A second call returns the promise of the first. */
  close(
    reason: "quit" | "reload" | "new" | "resume" | "fork" = "quit",
    { targetSessionFile }: { targetSessionFile?: string | undefined } = {},
  ): Promise<void> {
    const target = targetSessionFile === undefined ? {} : { targetSessionFile };
    this.#closed ??= this.#close({ type: "session_shutdown", reason, ...target });
    return this.#closed;
  }

  async #close(event: PayloadOf<LifecycleEvents["session_shutdown"]>): Promise<void> {
    const { events, abortGrace, controller } = this.#parts;
    await this.#activity.abort();
    controller.abandonBackground("The session is closed.");
    abortGrace.begin();
    // The abort stores the waiting messages.
    await this.#activity.idle();
    await events.notify("session_shutdown", event);
    abortGrace.reset();
    for (const follower of this.#followers) await follower.close();
    this.#onClose?.();
    this.session.close();
  }

  /** The current state, for front ends. */
  get state(): AgentState {
    return stateOf(this.#parts, { isBusy: this.isBusy, isCompacting: this.isCompacting });
  }

  /** Applies from the next request, also during a run. */
  setModel(model: CatalogueModel): Promise<void> {
    this.#parts.controller.modelChanged();
    return this.#parts.selection.setModel(model);
  }

  /** Applies from the next request, also during a run. */
  setThinking(level: ThinkingLevel): Promise<void> {
    return this.#parts.selection.setThinking(level);
  }

  /** Applies from the next check of the context, also during a run, and to later sub-agents. */
  setCompactionSettings(compaction: AgentSettings["compaction"]): void {
    this.#parts.settings = { ...this.#parts.settings, compaction };
    // Budgets change as with another model: a compaction that did not help before may help.
    this.#parts.controller.modelChanged();
  }

  async #alone<Result>(
    kind: ActivityKind,
    work: (signal: AbortSignal) => Promise<Result>,
    outer?: AbortSignal,
  ): Promise<Result> {
    this.#checkOpen();
    // Storing a message ends soon, unless its own handler calls.
    if (this.#activity.kind === "message" && !this.#parts.handlerCalls.isInside) await this.#activity.idle();
    return this.#activity.begin(kind, work, outer);
  }

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

/** Options of a requested compaction. */
export type CompactOptions = Pick<
  ManualCompaction,
  "focus" | "useDigest" | "ignoresRecentFailure" | "firstKeptEntryId" | "replacesLatest"
>;

/** Options of a move in the tree. */
export interface NavigateOptions
  extends Pick<
    Parameters<typeof navigateTree>[0],
    "summarise" | "focus" | "replaceInstructions" | "label" | "signal"
  > {
  /** The digest summarises, also if there is a model. Default false. */
  useDigest?: boolean;
}

/** Options of a merge. */
export type MergeOptions = Omit<NavigateOptions, "summarise">;
