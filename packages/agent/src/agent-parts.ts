import { CompactionController, type ReviewCompaction, type Summariser } from "@bonsai-agent/compaction";
import type { BackgroundChange } from "@bonsai-agent/compaction/host";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { CatalogueModel, ModelClient } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { RunCommand } from "./events.ts";
import { type AgentEvents, agentEvents, defaultLifecycle, type LifecycleEvents } from "./lifecycle.ts";
import { ModelSelection } from "./model-selection.ts";
import { type AgentNotice, modelNotice } from "./notice.ts";
import { overheadTexts, type PromptChange, SystemPromptInUse } from "./prompt/system-prompt.ts";
import { AbortGrace, HandlerCalls } from "./run/activity.ts";
import {
  type ConfirmMoreRequests,
  type ExpandInput,
  InputQueue,
  type InputSource,
  type PromptInput,
  type RunFollower,
  type StreamingBehavior,
} from "./run/queue.ts";
import { modelSummariser, PromptCache } from "./run/summariser.ts";
import type { AgentSettings } from "./settings.ts";
import { type Tool, ToolRegistry } from "./tools/tool-registry.ts";

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
  /** Called before each run and each request; the next prompt contains the change. Default: nothing changes. */
  renewPrompt?: (() => Promise<PromptChange | undefined>) | undefined;
  /** True: no threshold compaction. Default false. */
  isSubAgent?: boolean | undefined;
  /** Runs the commands that the user types after `!`. Default: refuses them. */
  runCommand?: RunCommand;
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
  extends Required<Pick<AgentOptions, "session" | "models" | "onNotice" | "now">>,
    Pick<AgentOptions, "settings" | "expandInput" | "confirmMoreRequests"> {
  readonly events: AgentEvents;
  readonly abortGrace: AbortGrace;
  readonly handlerCalls: HandlerCalls;
  readonly tools: ToolRegistry;
  readonly queue: InputQueue;
  readonly selection: ModelSelection;
  readonly promptCache: PromptCache;
  readonly summariser: Summariser;
  readonly controller: CompactionController;
  readonly systemPrompt: SystemPromptInUse;
  /** The texts of every request beside its messages. */
  readonly overheadTexts: () => readonly string[];
}

/** How an agent takes a text. */
export interface PromptOptions extends Pick<PromptInput, "images" | "isExpanded"> {
  /** Default "print". */
  source?: InputSource;
  /** Delivery of the text while a run goes on. Default: an error. */
  behavior?: StreamingBehavior;
}

/** Makes the parts of one agent and connects them. */
export function agentParts(options: AgentOptions): AgentParts {
  const { session, models, model, settings, onNotice = () => {}, now = Date.now } = options;
  const lifecycle = options.lifecycle ?? defaultLifecycle(onNotice);
  const abortGrace = new AbortGrace();
  const handlerCalls = new HandlerCalls();
  const events = agentEvents(lifecycle, { abortGrace, handlerCalls });
  const selection = new ModelSelection({ session, models, events, model, thinking: settings.thinking });
  const tools = toolRegistry(options);
  const promptCache = new PromptCache();
  const systemPrompt = promptInUse(options, tools);
  const parts: AgentParts = {
    ...{ session, models, settings, onNotice, now, events, abortGrace, handlerCalls, tools, selection },
    ...{ promptCache, systemPrompt, queue: new InputQueue() },
    summariser: modelSummariser({
      ...{ models, selection, session, promptCache, now },
      onNotice: (notice) => onNotice(modelNotice(notice)),
    }),
    controller: compactionController(options, () => parts),
    overheadTexts: overheadTexts(() => ({
      systemPrompt: systemPrompt.current,
      tools: tools.declarations(),
    })),
    expandInput: options.expandInput,
    confirmMoreRequests: options.confirmMoreRequests,
  };
  return parts;
}

function promptInUse({ systemPrompt, renewPrompt }: AgentOptions, tools: ToolRegistry): SystemPromptInUse {
  const make =
    typeof systemPrompt === "string" ? () => systemPrompt : () => systemPrompt(tools.activeTools());
  return new SystemPromptInUse(make, renewPrompt);
}

/** @param parts called at each decision: settings and model change during the work */
function compactionController(
  { session, reviewCompaction, isSubAgent = false, onNotice = () => {} }: AgentOptions,
  parts: () => AgentParts,
): CompactionController {
  // A sub-agent needs no notice: the setting is about the compactions of its parent.
  const review = reviewCompaction ?? (isSubAgent ? undefined : reviewWithoutUi(onNotice));
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
    fixedTexts: () => parts().overheadTexts(),
    isSubAgent,
    onBackground: notifyFirstLoss(onNotice),
    onWarning: ({ code, message, hint }) =>
      onNotice({ level: "warning", code, message: `${message} ${hint}` }),
  });
}

/** Notifies of the first background summary that was paid for and discarded. */
function notifyFirstLoss(onNotice: AgentParts["onNotice"]) {
  let isNotified = false;
  return ({ detail, lostRequests }: BackgroundChange): void => {
    if (isNotified || lostRequests === 0) return;
    isNotified = true;
    onNotice({
      level: "info",
      code: "background_compaction_lost",
      message: `Discarded a background summary: ${detail} The session did not change. Bonsai shows this notice only once.`,
    });
  };
}

/** Applies each compaction, with a notice at the first: there is no UI to ask on. */
function reviewWithoutUi(onNotice: AgentParts["onNotice"]): ReviewCompaction {
  let isNotified = false;
  return async () => {
    if (!isNotified)
      onNotice({
        level: "info",
        code: "compaction_not_reviewed",
        message: "compaction.confirm is on, but there is no terminal to ask on. Compacting without asking.",
      });
    isNotified = true;
    return { action: "apply" };
  };
}

function toolRegistry({ tools, settings, excludedTools }: AgentOptions): ToolRegistry {
  const registry = new ToolRegistry(excludedTools);
  for (const tool of tools) registry.register(tool);
  registry.setActive(settings.tools);
  return registry;
}
