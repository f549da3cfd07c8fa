import { CompactionController, type CompactionOutcome, type Navigation } from "@bonsai-agent/compaction";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import {
  type BashExecutionMessage,
  BonsaiError,
  type ImageContent,
  type Message,
} from "@bonsai-agent/messages";
import type { CatalogueModel, ModelClient, ThinkingLevel } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import { type AgentState, stateOf } from "./agent-state.ts";
import { CachedPrefix } from "./cached-prefix.ts";
import { CompactionTriggers } from "./compaction-triggers.ts";
import { type LifecycleEvents, lifecycleEventRules } from "./lifecycle-events.ts";
import { ModelSelection } from "./model-selection.ts";
import { modelSummariser } from "./model-summariser.ts";
import { type NavigateOptions, navigate } from "./navigation.ts";
import type { AgentNotice } from "./notice.ts";
import { InputQueue, type QueuedInput } from "./queue.ts";
import { recordMessage } from "./record-message.ts";
import type { RunCommand } from "./run-command.ts";
import type { InputSource, StreamingBehavior } from "./run-events.ts";
import { RunLoop } from "./run-loop.ts";
import type { RunResult } from "./run-result.ts";
import type { SessionStartReason } from "./session-events.ts";
import type { AgentSettings } from "./settings-schema.ts";
import type { Tool } from "./tool.ts";
import { errorResult } from "./tool-call.ts";
import { ToolRegistry } from "./tool-registry.ts";
import { unansweredCalls } from "./unanswered-calls.ts";
import { runUserCommand, type UserCommandOptions } from "./user-command.ts";
import { userMessage } from "./user-message.ts";
import type { Workplace } from "./workplace.ts";

export interface AgentOptions {
  session: Session;
  models: ModelClient;
  model: CatalogueModel;
  settings: AgentSettings;
  tools: readonly Tool[];
  /** Default: one without handlers. */
  lifecycle?: Lifecycle<LifecycleEvents>;
  systemPrompt: string;
  /** A sub-agent has no threshold compaction. Default false. */
  isSubAgent?: boolean;
  /** Runs what the user types behind `!`. Default: commands are refused. */
  runCommand?: RunCommand;
  onNotice?: (notice: AgentNotice) => void;
  now?: () => number;
}

export interface PromptOptions {
  images?: readonly ImageContent[];
  /** Default "print". */
  source?: InputSource;
  /** How the text is delivered when the agent is at work; without it, that is an error. */
  behavior?: StreamingBehavior;
}

/** One session at work. The rooms behind it each own one thing; this is the door. */
export class Agent {
  readonly #work: Workplace;
  readonly #compaction: CompactionTriggers;
  readonly #runCommand: RunCommand;
  #run: { result: Promise<RunResult>; abort: AbortController } | undefined;

  constructor(options: AgentOptions) {
    const { session, models, settings } = options;
    const lifecycle = options.lifecycle ?? new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules });
    const onNotice = options.onNotice ?? (() => {});
    const selection = new ModelSelection({
      session,
      models,
      lifecycle,
      model: options.model,
      thinking: settings.thinking,
    });
    const tools = new ToolRegistry();
    for (const tool of options.tools) tools.register(tool);
    tools.setActive(settings.tools);
    const systemPrompt = () => options.systemPrompt;
    const prefix = new CachedPrefix();
    const summariser = modelSummariser({ models, selection, session, prefix });
    const controller = new CompactionController({
      session,
      settings: settings.compaction,
      lifecycle,
      model: () => selection.model,
      summariser,
      isSubAgent: options.isSubAgent ?? false,
      onWarning: ({ code, message }) => onNotice({ level: "warning", code, message }),
    });
    this.#work = {
      session,
      lifecycle,
      models,
      settings,
      tools,
      queue: new InputQueue(),
      selection,
      summariser,
      controller,
      systemPrompt,
      onNotice,
      now: options.now ?? Date.now,
    };
    this.#compaction = new CompactionTriggers(this.#work);
    this.#runCommand =
      options.runCommand ?? (() => Promise.reject(new Error("This agent runs no commands.")));
  }

  get session(): Session {
    return this.#work.session;
  }

  get isBusy(): boolean {
    return this.#run !== undefined;
  }

  get isCompacting(): boolean {
    return this.#compaction.isRunning;
  }

  /**
   * Sends a text and resolves when the agent has nothing more to do. While it is at work the text is queued as
   * `behavior` says, and the promise is that of the run under way.
   * @throws BonsaiError `agent_busy` without a behavior, and what appending to the session throws.
   */
  prompt(text: string, options: PromptOptions = {}): Promise<RunResult> {
    if (this.#run !== undefined) return this.#enqueue({ text, images: options.images }, options.behavior);
    const abort = new AbortController();
    const result = this.#runFrom({ text, images: options.images }, options, abort.signal).finally(() => {
      this.#run = undefined;
    });
    this.#run = { result, abort };
    return result;
  }

  /** Stops whatever is going on; resolves when the agent is idle. */
  async abort(): Promise<void> {
    const run = this.#run;
    run?.abort.abort(new Error("The user stopped the work."));
    this.#compaction.cancel();
    await run?.result.catch(() => {});
  }

  /** Cancels a compaction that is under way, and nothing else. */
  cancelCompaction(): void {
    this.#compaction.cancel();
  }

  compact(options: { focus?: string } = {}): Promise<CompactionOutcome> {
    return this.#compaction.manual(options.focus, new AbortController().signal);
  }

  /** Tells extensions that the session is open; front ends call it once, before the first prompt. */
  start(reason: SessionStartReason = "startup"): Promise<void> {
    return this.#work.lifecycle.notify("session_start", { type: "session_start", reason });
  }

  /** Stops the work, tells extensions, and ends the use of the session. */
  async close(reason: "quit" | "new" | "resume" | "fork" = "quit"): Promise<void> {
    await this.abort();
    await this.#work.lifecycle.notify("session_shutdown", { type: "session_shutdown", reason });
    this.session.close();
  }

  /**
   * Moves to another place in the tree, as `/tree` does.
   * @throws BonsaiError `agent_busy`, and what `navigateTree` throws; then nothing has changed.
   */
  navigate(targetId: string, options: NavigateOptions = {}): Promise<Navigation> {
    if (this.#run !== undefined) throw busy();
    return navigate(this.#work, targetId, options);
  }

  /**
   * Runs what the user typed behind `!` (or `!!`: kept out of the context) and stores it with its output.
   * @throws BonsaiError `agent_busy`, `command_blocked`, `command_failed`.
   */
  runUserCommand(command: string, options: UserCommandOptions = {}): Promise<BashExecutionMessage> {
    if (this.#run !== undefined) throw busy();
    const { session } = this;
    return runUserCommand(
      { work: this.#work, runCommand: this.#runCommand, cwd: session.cwd },
      command,
      options,
    );
  }

  get state(): AgentState {
    return stateOf(this.#work, { isBusy: this.isBusy, isCompacting: this.isCompacting });
  }

  setModel(model: CatalogueModel): Promise<void> {
    return this.#work.selection.setModel(model);
  }

  setThinking(level: ThinkingLevel): Promise<void> {
    return this.#work.selection.setThinking(level);
  }

  #enqueue(input: QueuedInput, behavior: StreamingBehavior | undefined): Promise<RunResult> {
    if (behavior === undefined) throw busy();
    this.#work.queue.add(input, behavior);
    return this.#run!.result;
  }

  async #runFrom(input: QueuedInput, options: PromptOptions, signal: AbortSignal): Promise<RunResult> {
    const work = this.#work;
    const heard = await this.#heard(input, options, signal);
    if (heard === undefined) return { status: "handled" };
    const systemPrompt = await this.#begin(heard, signal);
    const messages: Message[] = [];
    await work.lifecycle.notify("agent_start", { type: "agent_start" });
    const loop = new RunLoop({
      work,
      compaction: this.#compaction,
      systemPrompt,
      signal,
      onMessage: (message) => messages.push(message),
    });
    const result = await loop.run();
    await work.lifecycle.notify("agent_end", { type: "agent_end", messages, result });
    return result;
  }

  /** What extensions made of the text; undefined when one took it. */
  async #heard(
    input: QueuedInput,
    { source = "print" }: PromptOptions,
    signal: AbortSignal,
  ): Promise<QueuedInput | undefined> {
    const event = {
      type: "input" as const,
      text: input.text,
      source,
      ...(input.images === undefined ? {} : { images: [...input.images] }),
    };
    const { result, payload } = await this.#work.lifecycle.decide("input", event, { signal });
    return result?.action === "handled" ? undefined : { text: payload.text, images: payload.images };
  }

  /** Writes the user's message, so that it is on disk before the request leaves; gives back the run's system prompt. */
  async #begin(input: QueuedInput, signal: AbortSignal): Promise<string> {
    const work = this.#work;
    for (const call of unansweredCalls(work.session))
      await recordMessage(work, errorResult(call, "The program ended before this tool did.", work.now()));
    const { result, payload } = await work.lifecycle.decide(
      "before_agent_start",
      {
        type: "before_agent_start",
        prompt: input.text,
        systemPrompt: work.systemPrompt(),
        ...(input.images === undefined ? {} : { images: [...input.images] }),
      },
      { signal },
    );
    work.selection.record();
    await recordMessage(work, userMessage(input, work.now()));
    work.controller.userMessageArrived();
    if (result?.message !== undefined) work.session.append({ type: "custom_message", ...result.message });
    return payload.systemPrompt;
  }
}

function busy(): BonsaiError {
  return new BonsaiError({
    code: "agent_busy",
    message: "The agent is at work.",
    hint: "Steer it, queue the text as a follow-up, or abort first.",
  });
}
