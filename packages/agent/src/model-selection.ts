import type { CatalogueModel, ModelClient, ThinkingLevel } from "@bonsai-agent/models";
import type { Entry, PathSettings, Session } from "@bonsai-agent/session";
import type { AgentEvents } from "./lifecycle.ts";

interface ModelSelectionOptions {
  session: Session;
  models: ModelClient;
  events: AgentEvents;
  model: CatalogueModel;
  thinking: ThinkingLevel;
}

/** Owner of the model in use and of how much it thinks; both are recorded in the session when work is done with them. */
export class ModelSelection {
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
    const { model, thinkingLevel, isWhole } = recentSettings(session);
    const { provider, id } = this.#model;
    if (model?.provider !== provider || model.modelId !== id)
      session.append({ type: "model_change", provider, modelId: id });
    if ((thinkingLevel ?? (isWhole ? "off" : undefined)) !== this.#thinking)
      session.append({ type: "thinking_level_change", thinkingLevel: this.#thinking });
  }
}

/**
 * What the session was last worked on with, as far as the part of the path shows that the model sees: that is in
 * memory, while the rest would have to be read. `isWhole`: that part is the whole path.
 */
function recentSettings(session: Session): PathSettings & { isWhole: boolean } {
  const found: PathSettings = {};
  let oldest: Entry | undefined;
  for (const entry of session.tail()) {
    oldest = entry;
    if (entry.type === "thinking_level_change") found.thinkingLevel ??= entry.thinkingLevel;
    if (entry.type === "model_change") found.model ??= { provider: entry.provider, modelId: entry.modelId };
    if (entry.type === "message" && entry.message.role === "assistant")
      found.model ??= { provider: entry.message.provider, modelId: entry.message.model };
    if (found.model !== undefined && found.thinkingLevel !== undefined) break;
  }
  return { ...found, isWhole: (oldest?.parentId ?? null) === null };
}
