import { CompactionController, type ReviewCompaction, type Summariser } from "@bonsai-agent/compaction";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { type ImageContent, jsonText, type UserContent } from "@bonsai-agent/messages";
import type { CatalogueModel, ModelClient, ThinkingLevel } from "@bonsai-agent/models";
import { isRefusedImageLine } from "@bonsai-agent/models/host";
import type { ContextEditEntry, Entry, Session } from "@bonsai-agent/session";
import type { InputSource, PromptInput, RunCommand, StreamingBehavior } from "../events.ts";
import {
  AbortGrace,
  type AgentEvents,
  agentEvents,
  defaultLifecycle,
  HandlerCalls,
  type LifecycleEvents,
} from "../lifecycle.ts";
import { type AgentNotice, modelNotice } from "../notice.ts";
import { overheadTexts, type PromptChange, SystemPromptInUse } from "../prompt/system-prompt.ts";
import type { AgentSettings } from "../settings.ts";
import { type Tool, ToolRegistry } from "../tools/tool-registry.ts";
import { type ConfirmMoreRequests, type ExpandInput, InputQueue, type RunFollower } from "./queue.ts";
import { modelSummariser, PromptCache } from "./summariser.ts";

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
  /** True: no threshold compaction, no sub-agents of its own, and no title. Default false. */
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
  const { systemPrompt: prompt, expandInput, confirmMoreRequests } = options;
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
  const systemPrompt = new SystemPromptInUse(makePrompt, options.renewPrompt);
  const parts: AgentParts = {
    ...{ session, models, settings, onNotice, now, events, abortGrace, handlerCalls, tools, selection },
    ...{ promptCache, systemPrompt, expandInput, confirmMoreRequests, queue: new InputQueue() },
    summariser: modelSummariser({
      ...{ models, selection, session, promptCache, now },
      onNotice: (notice) => onNotice(modelNotice(notice)),
    }),
    controller: compactionController(options, () => parts),
    overheadTexts: overheadTexts(() => ({
      systemPrompt: systemPrompt.current,
      tools: tools.declarations(),
    })),
  };
  return parts;
}

/** @param parts called at each decision: settings and model change during the work */
function compactionController(
  { session, reviewCompaction, isSubAgent = false, onNotice = () => {} }: AgentOptions,
  parts: () => AgentParts,
): CompactionController {
  const notifyFirstLoss = onlyFirst(onNotice);
  return new CompactionController({
    session,
    get settings() {
      return parts().settings.compaction;
    },
    get lifecycle() {
      return parts().events;
    },
    // A sub-agent needs no notice: the setting is about the compactions of its parent.
    review: reviewCompaction ?? (isSubAgent ? undefined : reviewWithoutUi(onNotice)),
    model: () => parts().selection.model,
    get summariser() {
      return parts().summariser;
    },
    now: () => parts().now(),
    fixedTexts: () => parts().overheadTexts(),
    isSubAgent,
    onBackground: ({ detail, lostRequests }) => {
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
function onlyFirst(onNotice: AgentParts["onNotice"]): AgentParts["onNotice"] {
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

  /** Appends the model and the level to the session, if they changed or the recent entries do not name them. */
  record(): void {
    const { session } = this.#parts;
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

type Block = { type: string; data?: unknown; text?: unknown };

/** Replaces images in the model's view with a line of text: the provider refuses every request that contains them. */
export function omitImages(session: Session, images: readonly ImageContent[], line: string): void {
  const refused = new Set<unknown>(images.map(({ data }) => data));
  const isRefused = ({ type, data }: Block) => type === "image" && refused.has(data);
  for (const { entryId, message } of session.projection().items) {
    const { content } = message as { content?: unknown };
    if (!Array.isArray(content) || !content.some(isRefused)) continue;
    const text: UserContent = { type: "text", text: line };
    const replaced = content.map((block: UserContent) => (isRefused(block) ? text : block));
    session.append({ type: "context_edit", targetId: entryId, replacement: { content: replaced } });
  }
}

/** Restores the images that a provider refused: another model may accept them. */
function restoreImages(session: Session): void {
  for (const { entryId, entry, edit } of session.projection().items) {
    if (edit === undefined || !isImageEdit(edit, entry)) continue;
    const before = blocksOf(entry.type === "message" ? entry.message : entry) ?? [];
    const after = blocksOf(edit.replacement) ?? [];
    const isRefusal = before.some(
      ({ type }, at) => type === "image" && isRefusedImageLine(String(after[at]?.text)),
    );
    if (!isRefusal) continue;
    const content = before as UserContent[];
    session.append({ type: "context_edit", targetId: entryId, replacement: { content } });
  }
}

/** True for an edit that only replaces images with text. The later answers already saw that text. */
export function isImageEdit({ replacement }: ContextEditEntry, edited: Entry | undefined): boolean {
  const before = blocksOf(edited?.type === "message" ? edited.message : edited);
  const after = blocksOf(replacement);
  if (before === undefined || after === undefined || before.length !== after.length) return false;
  return before.every((block, at) => block?.type === "image" || jsonText(block) === jsonText(after[at]));
}

function blocksOf(holder: unknown): Block[] | undefined {
  const content = (holder as { content?: unknown } | null | undefined)?.content;
  return Array.isArray(content) ? content : undefined;
}
