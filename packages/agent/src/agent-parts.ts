import {
  type BackgroundChange,
  CompactionController,
  type ReviewCompaction,
  type Summariser,
} from "@bonsai-agent/compaction";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { ImageContent } from "@bonsai-agent/messages";
import type { CatalogueModel, ModelClient, ThinkingLevel } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { RunCommand } from "./events.ts";
import { type AgentEvents, agentEvents, defaultLifecycle, type LifecycleEvents } from "./lifecycle.ts";
import { type AgentNotice, modelNotice } from "./notice.ts";
import { fixedTexts, type PromptChange, SystemPromptInUse } from "./prompt/system-prompt.ts";
import { AbortGrace, HandlerCalls } from "./run/activity.ts";
import { restoreImages } from "./run/omitted-images.ts";
import {
  type ConfirmLongRun,
  type ExpandInput,
  InputQueue,
  type InputSource,
  type RunFollower,
  type StreamingBehavior,
} from "./run/queue.ts";
import { CachedPrefix, modelSummariser } from "./run/summariser.ts";
import type { AgentSettings } from "./settings.ts";
import { type Tool, ToolRegistry } from "./tools/tool-registry.ts";

/** What one agent is made of: each part owns one thing. */
export interface AgentParts {
  readonly session: Session;
  readonly events: AgentEvents;
  readonly abortGrace: AbortGrace;
  readonly handlerCalls: HandlerCalls;
  readonly models: ModelClient;
  /** As they are now: a front end can change those of compactions. */
  settings: AgentSettings;
  readonly tools: ToolRegistry;
  readonly queue: InputQueue;
  readonly selection: ModelSelection;
  readonly prefix: CachedPrefix;
  readonly summariser: Summariser;
  readonly controller: CompactionController;
  readonly systemPrompt: SystemPromptInUse;
  /** What every request holds beside its messages. */
  readonly fixedTexts: () => readonly string[];
  /** Absent where no text is a command. */
  readonly expandInput: ExpandInput | undefined;
  /** Absent where nobody can be asked. */
  readonly confirmLongRun: ConfirmLongRun | undefined;
  readonly onNotice: (notice: AgentNotice) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** An agent from its parts; `openAgent` puts the built-in ones together. */
export interface AgentOptions {
  /** What it works in, and stores everything in. */
  session: Session;
  /** Who asks models. */
  models: ModelClient;
  /** The model to begin with. */
  model: CatalogueModel;
  /** As `agentSettings` gives them. */
  settings: AgentSettings;
  /** All of them; `settings.tools` names those that the model is offered. */
  tools: readonly Tool[];
  /** Names of tools that the model is never offered. Default: none. */
  excludedTools?: readonly string[] | undefined;
  /** Default: one without handlers. */
  lifecycle?: Lifecycle<LifecycleEvents>;
  /** A function is asked at the start of each run, with the tools that the model is offered then. */
  systemPrompt: string | ((tools: readonly Tool[]) => string);
  /** Asked before each run and each request; what changed since stands in the next prompt. Default: nothing changes. */
  renewPrompt?: (() => Promise<PromptChange | undefined>) | undefined;
  /** A sub-agent has no threshold compaction. Default false. */
  isSubAgent?: boolean;
  /** Runs what the user types behind `!`. Default: commands are refused. */
  runCommand?: RunCommand;
  /** Expands what calls a template or a skill. Default: each text is sent as it stands. */
  expandInput?: ExpandInput | undefined;
  /** Called after each run, in this order. */
  followers?: readonly RunFollower[];
  /** Asks whether a run may go on that has made `limits.runRequests` requests. Default: it ends. */
  confirmLongRun?: ConfirmLongRun | undefined;
  /**
   * Decides on compactions before they are written, where `compaction.confirm` wants that. Default: nobody does, and the
   * first time there is a notice.
   */
  reviewCompaction?: ReviewCompaction | undefined;
  /** Must not throw. */
  onNotice?: (notice: AgentNotice) => void;
  /** Called once, when the agent is closed: what its tools work with ends. Must not throw. */
  onClose?: (() => void) | undefined;
  /** Milliseconds since the epoch. Default: the clock. */
  now?: () => number;
}

/** How a text is given to an agent. */
export interface PromptOptions {
  /** Sent with the text. */
  images?: readonly ImageContent[];
  /** Default "print". */
  source?: InputSource;
  /** How the text is delivered while a run is under way; without it, that is an error. */
  behavior?: StreamingBehavior;
  /** A text that calls a template or a skill is expanded. Default: true, but for the source "extension". */
  isExpanded?: boolean;
}

/** Makes the parts of one agent, and ties them together. */
export function agentParts(options: AgentOptions): AgentParts {
  const { session, models, settings, onNotice = () => {}, now = Date.now } = options;
  const lifecycle = options.lifecycle ?? defaultLifecycle(onNotice);
  const abortGrace = new AbortGrace();
  const handlerCalls = new HandlerCalls();
  const events = agentEvents(lifecycle, { abortGrace, handlerCalls });
  const { model, systemPrompt: prompt } = options;
  const selection = new ModelSelection({ session, models, events, model, thinking: settings.thinking });
  const tools = toolRegistry(options);
  const prefix = new CachedPrefix();
  const summariser = modelSummariser({
    models,
    selection,
    session,
    prefix,
    now,
    onNotice: (notice) => onNotice(modelNotice(notice)),
  });
  const controller = compactionController(options, () => parts);
  const systemPrompt = new SystemPromptInUse(
    typeof prompt === "string" ? () => prompt : () => prompt(tools.activeTools()),
    options.renewPrompt,
  );
  const queue = new InputQueue();
  const parts: AgentParts = {
    session,
    events,
    abortGrace,
    handlerCalls,
    models,
    settings,
    tools,
    queue,
    selection,
    prefix,
    summariser,
    controller,
    systemPrompt,
    fixedTexts: fixedTexts(() => ({ systemPrompt: systemPrompt.current, tools: tools.declarations() })),
    expandInput: options.expandInput,
    confirmLongRun: options.confirmLongRun,
    onNotice,
    now,
  };
  return parts;
}

/** What was paid for in vain is told, the first time. */
function tellOnce(onNotice: AgentParts["onNotice"]) {
  let isTold = false;
  return ({ detail, lostRequests }: BackgroundChange): void => {
    if (isTold || lostRequests === 0) return;
    isTold = true;
    onNotice({
      level: "info",
      code: "background_compaction_lost",
      message: `Discarded a background summary: ${detail} The session did not change. Bonsai shows this notice only once.`,
    });
  };
}

/** @param parts asked once they are made: settings and model change while it works */
function compactionController(
  { session, reviewCompaction, isSubAgent = false }: AgentOptions,
  parts: () => AgentParts,
): CompactionController {
  const onNotice = (notice: AgentNotice) => parts().onNotice(notice);
  // That nobody can be asked is no news of a sub-agent: its parent's compactions are those that the setting is about.
  const review = reviewCompaction ?? (isSubAgent ? undefined : unseenReview(onNotice));
  return new CompactionController({
    session,
    get settings() {
      return parts().settings.compaction;
    },
    get lifecycle() {
      return parts().events;
    },
    review,
    model: () => parts().selection.model,
    get summariser() {
      return parts().summariser;
    },
    now: () => parts().now(),
    fixedTexts: () => parts().fixedTexts(),
    isSubAgent,
    onBackground: tellOnce(onNotice),
    onWarning: ({ code, message, hint }) =>
      onNotice({ level: "warning", code, message: `${message} ${hint}` }),
  });
}

/** Where nobody can be asked, nothing waits: each compaction is made as it comes. */
function unseenReview(onNotice: AgentParts["onNotice"]): ReviewCompaction {
  let isNotified = false;
  return async () => {
    if (!isNotified) onNotice(notReviewed);
    isNotified = true;
    return { action: "apply" };
  };
}

const notReviewed: AgentNotice = {
  level: "info",
  code: "compaction_not_reviewed",
  message: "compaction.confirm is on, but there is no terminal to ask on. Compacting without asking.",
};

function toolRegistry({ tools, settings, excludedTools }: AgentOptions): ToolRegistry {
  const registry = new ToolRegistry(excludedTools);
  for (const tool of tools) registry.register(tool);
  registry.setActive(settings.tools);
  return registry;
}

interface ModelSelectionOptions {
  session: Session;
  models: ModelClient;
  events: AgentEvents;
  model: CatalogueModel;
  thinking: ThinkingLevel;
}

/** Owner of the model in use and of how much it thinks; both are recorded in the session when work is done with them. */
class ModelSelection {
  readonly #options: ModelSelectionOptions;
  #model: CatalogueModel;
  #thinking: ThinkingLevel;

  constructor(options: ModelSelectionOptions) {
    this.#options = options;
    this.#model = options.model;
    this.#thinking = options.thinking;
  }

  /** With what its server has taught about its window. */
  get model(): CatalogueModel {
    return this.#options.models.sized(this.#model);
  }

  get thinking(): ThinkingLevel {
    return this.#thinking;
  }

  async setModel(model: CatalogueModel): Promise<void> {
    const previousModel = this.#model;
    this.#model = model;
    const event = { type: "model_select" as const, model, previousModel, source: "set" as const };
    await this.#options.events.notify("model_select", event);
  }

  async setThinking(level: ThinkingLevel): Promise<void> {
    const previousLevel = this.#thinking;
    this.#thinking = level;
    const event = { type: "thinking_level_select" as const, level, previousLevel };
    await this.#options.events.notify("thinking_level_select", event);
  }

  /** Records in the session what it is worked on with, where that has changed or is not known without reading back. */
  record(): void {
    const { session } = this.#options;
    const { model, thinkingLevel, isWhole } = session.recentSettings();
    const { provider, id } = this.#model;
    if (model?.provider !== provider || model.modelId !== id) {
      session.append({ type: "model_change", provider, modelId: id });
      if (this.#model.input.includes("image")) restoreImages(session);
    }
    if ((thinkingLevel ?? (isWhole ? "off" : undefined)) !== this.#thinking)
      session.append({ type: "thinking_level_change", thinkingLevel: this.#thinking });
  }
}
