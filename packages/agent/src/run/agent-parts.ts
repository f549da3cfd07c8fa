import { AsyncLocalStorage } from "node:async_hooks";
import { CompactionController, type ReviewCompaction, type Summariser } from "@bonsai-agent/compaction";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { CatalogueModel, ModelClient, ThinkingLevel } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { InputSource, PromptInput, StreamingBehavior } from "../events.ts";
import { type AgentEvents, defaultLifecycle, type LifecycleEvents } from "../lifecycle.ts";
import { type AgentNotice, modelNotice } from "../notice.ts";
import type { InstructionFiles } from "../prompt/instruction-files.ts";
import { overheadTexts, SystemPromptInUse } from "../prompt/system-prompt.ts";
import type { AgentSettings } from "../settings.ts";
import { shellCommand } from "../tools/shell-command.ts";
import { type Tool, ToolRegistry } from "../tools/tool-registry.ts";
import { DurableWork } from "./durable-work.ts";
import { PromptNotes } from "./prompt-notes.ts";
import { type ConfirmMoreRequests, type ExpandInput, InputQueue, type RunFollower } from "./queue.ts";
import { modelSummariser, PromptCache } from "./summariser.ts";
import { turnBase, withHints } from "./turn-request.ts";

/** Parts and behaviour of an agent; `openAgent` combines the built-in ones. */
export interface AgentOptions {
  /** The session that the agent works in and appends to. */
  session: Session;
  models: ModelClient;
  /** The model to begin with. */
  model: CatalogueModel;
  /** As `agentSettings` returns them. */
  settings: AgentSettings;
  /** All tools; `settings.tools` names those that the model may use. */
  tools: readonly Tool[];
  /** Names of tools that the model may never use. Default: none. */
  excludedTools?: readonly string[] | undefined;
  /** Default: a lifecycle without handlers. */
  lifecycle?: Lifecycle<LifecycleEvents>;
  /** A function is called at the start of each run, with the tools that the model may use then. */
  systemPrompt: string | ((tools: readonly Tool[]) => string);
  /** The instructions in the prompt, which can change. Default: nothing changes. */
  instructions?: Pick<InstructionFiles, "renew" | "adopt" | "note"> | undefined;
  /** True: no threshold compaction, no sub-agents of its own, and no title. Default false. */
  isSubAgent?: boolean | undefined;
  /**
   * "shared": the agent waits until a session in a database is stored before a request leaves, before a tool with effects
   * starts and before it answers, and records tool calls in the session's ledger. Default: the session's own durability.
   */
  durability?: "shared" | undefined;
  /** The commands that the user types after `!` run here. Default: the session's folder. */
  cwd?: string;
  /** Runs these commands. Default: a shell of this machine. */
  shell?: typeof shellCommand;
  /** Expands a text that calls a template or a skill. Default: sends each text as it is. */
  expandInput?: ExpandInput | undefined;
  /** Called after each run, in this order. */
  followers?: readonly RunFollower[];
  /** Decides whether a run may continue after `limits.runRequests` requests. Default: it ends. */
  confirmMoreRequests?: ConfirmMoreRequests | undefined;
  /** Decides on each compaction before it is written, if `compaction.confirm` is on. Default: a notice, once. */
  reviewCompaction?: ReviewCompaction | undefined;
  /** Must not throw. */
  onNotice?: (notice: AgentNotice) => void;
  /** Called once, at the end of `close`, to end the resources of tools. Must not throw. */
  onClose?: (() => void) | undefined;
  /** Milliseconds since the epoch. Default: the clock. */
  now?: () => number;
}

/** The parts of one agent. */
export interface AgentParts
  extends Required<Pick<AgentOptions, "session" | "models" | "onNotice" | "now" | "cwd" | "shell">>,
    Pick<AgentOptions, "settings" | "expandInput" | "confirmMoreRequests"> {
  readonly events: AgentEvents;
  readonly abortGrace: AbortGrace;
  readonly durableWork: DurableWork;
  readonly handlerCalls: HandlerCalls;
  readonly tools: ToolRegistry;
  readonly queue: InputQueue;
  readonly selection: ModelSelection;
  readonly promptCache: PromptCache;
  readonly summariser: Summariser;
  readonly controller: CompactionController;
  readonly systemPrompt: SystemPromptInUse;
  readonly promptNotes: PromptNotes;
  /** The texts of every request beside its messages. */
  readonly overheadTexts: () => readonly string[];
}

/** How an agent takes a text. */
export interface PromptOptions extends Pick<PromptInput, "images" | "isExpanded"> {
  /** Default "print". */
  source?: InputSource;
  /** Delivery of the text during a run. Default: an error. */
  behavior?: StreamingBehavior;
}

/** Makes the parts of one agent and connects them. */
export function agentParts(options: AgentOptions): AgentParts {
  const { session, models, model, settings, onNotice = () => {}, now = Date.now } = options;
  const { systemPrompt: prompt, expandInput, confirmMoreRequests } = options;
  const { cwd = session.cwd, shell = shellCommand } = options;
  const abortGrace = new AbortGrace();
  const handlerCalls = new HandlerCalls();
  const lifecycle = options.lifecycle ?? defaultLifecycle(onNotice);
  const events = agentEvents(lifecycle, { abortGrace, handlerCalls });
  const selection = new ModelSelection({ session, models, events }, model, settings.thinking);
  const tools = new ToolRegistry(options.excludedTools);
  for (const tool of options.tools) tools.register(tool);
  tools.setActive(settings.tools);
  const promptCache = new PromptCache();
  const makePrompt = typeof prompt === "string" ? () => prompt : () => prompt(tools.activeTools());
  const systemPrompt = new SystemPromptInUse(makePrompt);
  const promptNotes = new PromptNotes({
    ...{ session, systemPrompt, instructions: options.instructions, now },
    budget: () => (parts.settings.compaction.showBudget ? parts.controller.budget() : undefined),
    canAsk: () => parts.settings.compaction.allowRequests && tools.get("context") !== undefined,
  });
  const notifyNoWorker = onlyFirst(onNotice);
  const known = {
    ...{ session, models, settings, onNotice, now, events, abortGrace, handlerCalls, tools, selection },
    durableWork: new DurableWork(session, { durability: options.durability, onNotice }),
    ...{ cwd, shell, promptCache, systemPrompt, promptNotes, expandInput, confirmMoreRequests },
    queue: new InputQueue(),
    summariser: modelSummariser({
      ...{ models, selection, session, promptCache, now },
      turnBase: () => turnBase({ systemPrompt, tools, session, selection }),
      seen: (messages) => withHints(messages, tools),
      onNotCached: (reason) =>
        onNotice({
          level: "info",
          code: "summary_not_cached",
          message: `The summary did not continue the cached request, although compaction.summarizer.kind is cached. ${reason} Bonsai sent the conversation as text instead. It shows this notice only once.`,
        }),
      workers: {
        isWanted: () => parts.settings.sessions.summaries === "workers",
        onNoWorker: () =>
          notifyNoWorker({
            level: "info",
            code: "summary_made_here",
            message:
              "No worker made the summary of this shared session, so this host asked the model itself. Check that a `bonsai worker` with a key for the model runs, or set sessions.summaries to here. Bonsai shows this notice only once.",
          }),
      },
      onNotice: (notice) => onNotice(modelNotice(notice)),
    }),
    overheadTexts: overheadTexts(() => ({
      systemPrompt: systemPrompt.current,
      tools: tools.declarations(),
    })),
  };
  const parts: AgentParts = Object.assign(known, { controller: compactionController(options, known) });
  return parts;
}

/** @param parts its settings change during the work */
function compactionController(
  { reviewCompaction, isSubAgent = false }: AgentOptions,
  parts: Omit<AgentParts, "controller">,
): CompactionController {
  const { session, events, selection, summariser, now, overheadTexts: fixedTexts, onNotice } = parts;
  const notifyFirstLoss = onlyFirst(onNotice);
  return new CompactionController({
    ...{ session, lifecycle: events, summariser, now, fixedTexts, isSubAgent },
    get settings() {
      return parts.settings.compaction;
    },
    model: () => selection.model,
    // A sub-agent needs no notice: the setting is about the compactions of its parent.
    review: reviewCompaction ?? (isSubAgent ? undefined : reviewWithoutUi(onNotice)),
    onBackground: ({ state, detail, lostRequests }) => {
      // Its cost is in the session now: a later request must not find the summary and count it again.
      if (state === "discarded" || state === "failed") session.store.drafts?.clear();
      if (lostRequests === 0) return;
      notifyFirstLoss({
        level: "info",
        code: "background_compaction_lost",
        message: `Discarded a background summary: ${detail} The session did not change. Bonsai shows this notice only once.`,
      });
    },
    onWarning: ({ code, message, hint }) =>
      onNotice({ level: "warning", code, message: `${message} ${hint}` }),
  });
}

/** Applies each compaction, with a notice at the first: there is no UI to ask on. */
function reviewWithoutUi(onNotice: AgentParts["onNotice"]): ReviewCompaction {
  const notify = onlyFirst(onNotice);
  return async () => {
    notify({
      level: "info",
      code: "compaction_not_reviewed",
      message: "compaction.confirm is on, but there is no terminal to ask on. Compacting without asking.",
    });
    return { action: "apply" };
  };
}

/** Passes on the first notice only. */
export function onlyFirst(onNotice: AgentParts["onNotice"]): AgentParts["onNotice"] {
  let isNotified = false;
  return (notice) => {
    if (!isNotified) onNotice(notice);
    isNotified = true;
  };
}

/** The selected model and thinking level. Records both in the session when a run uses them. */
export class ModelSelection {
  readonly #parts: Pick<AgentParts, "session" | "models" | "events">;
  #model: CatalogueModel;
  #thinking: ThinkingLevel;

  constructor(
    parts: Pick<AgentParts, "session" | "models" | "events">,
    model: CatalogueModel,
    thinking: ThinkingLevel,
  ) {
    this.#parts = parts;
    this.#model = model;
    this.#thinking = thinking;
  }

  /** With the window that its server has reported. */
  get model(): CatalogueModel {
    return this.#parts.models.withLearnedWindow(this.#model);
  }

  get thinking(): ThinkingLevel {
    return this.#thinking;
  }

  async setModel(model: CatalogueModel): Promise<void> {
    const previousModel = this.#model;
    this.#model = model;
    const event = { type: "model_select" as const, model, previousModel, source: "set" as const };
    await this.#parts.events.notify("model_select", event);
  }

  async setThinking(level: ThinkingLevel): Promise<void> {
    const previousLevel = this.#thinking;
    this.#thinking = level;
    const event = { type: "thinking_level_select" as const, level, previousLevel };
    await this.#parts.events.notify("thinking_level_select", event);
  }

  /**
   * Appends the model and the level to the session, if they changed or the recent entries do not name them. Returns true
   * for a changed model.
   */
  record(): boolean {
    const { session } = this.#parts;
    const { model, thinkingLevel, isWhole } = session.recentSettings();
    const { provider, id } = this.#model;
    const isChanged = model?.provider !== provider || model.modelId !== id;
    if (isChanged) session.append({ type: "model_change", provider, modelId: id });
    if ((thinkingLevel ?? (isWhole ? "off" : undefined)) !== this.#thinking)
      session.append({ type: "thinking_level_change", thinkingLevel: this.#thinking });
    return isChanged;
  }
}

/** The lifecycle as an agent calls it: after an abort, it does not wait for hanging handlers. */
function agentEvents(
  lifecycle: Lifecycle<LifecycleEvents>,
  { abortGrace, handlerCalls }: { abortGrace: AbortGrace; handlerCalls: HandlerCalls },
): AgentEvents {
  const limited = (options: { signal?: AbortSignal } = {}) => ({ signal: abortGrace.signal, ...options });
  return {
    hasHandlers: (name) => lifecycle.hasHandlers(name),
    notify: (name, payload, options) =>
      handlerCalls.run(() => lifecycle.notify(name, payload, limited(options))),
    decide: (name, payload, options) =>
      handlerCalls.run(() => lifecycle.decide(name, payload, limited(options))),
  };
}

/** Time that handlers and tools have to end after an abort. */
const GRACE_MS = 5_000;

/** Aborts its signal some time after the work was stopped: a hanging handler or tool cannot keep the agent busy. */
export class AbortGrace {
  #over = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  /** Aborted when the agent no longer waits for handlers and tools. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Starts the timer: the work was stopped. */
  begin(): void {
    clearTimeout(this.#timer);
    const over = this.#over;
    const reason = `It was still running ${GRACE_MS / 1_000} seconds after the stop.`;
    this.#timer = setTimeout(() => over.abort(new Error(reason)), GRACE_MS);
  }

  /** Stops waiting for the current handlers at once. */
  expire(): void {
    this.#over.abort(new Error("The user stopped waiting."));
    this.reset();
  }

  /** Restarts the timer for one more event, if it has run out. */
  extend(): void {
    if (!this.#over.signal.aborted) return;
    this.reset();
    this.begin();
  }

  /** Stops the timer: new work begins. */
  reset(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#over.signal.aborted) this.#over = new AbortController();
  }
}

/** Detects calls from a handler or tool that their caller waits for: if they waited for it too, both would wait for ever. */
export class HandlerCalls {
  readonly #calls = new AsyncLocalStorage<{ hasEnded: boolean }>();

  /** Runs a handler or a tool. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const call = { hasEnded: false };
    try {
      return await this.#calls.run(call, work);
    } finally {
      call.hasEnded = true;
    }
  }

  /** True for code that runs inside a handler or a tool. */
  get isInside(): boolean {
    return this.#calls.getStore()?.hasEnded === false;
  }

  /** Returns the promise, or `instead` to a handler or tool that waits for it. */
  async awaited<Result>(promise: Promise<Result>, instead: Result): Promise<Result> {
    const call = this.#calls.getStore();
    if (call === undefined) return promise;
    // Most handlers have ended by then: a promise that they kept settles as usual.
    const later = new Promise<void>((resolve) => setImmediate(resolve));
    return Promise.race([promise, later.then(() => (call.hasEnded ? promise : instead))]);
  }
}
