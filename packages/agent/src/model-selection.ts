import type { CatalogueModel, ModelClient, ThinkingLevel } from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { AgentEvents } from "./lifecycle.ts";
import { restoreImages } from "./run/omitted-images.ts";

interface ModelSelectionOptions {
  session: Session;
  models: ModelClient;
  events: AgentEvents;
  model: CatalogueModel;
  thinking: ThinkingLevel;
}

/** The selected model and thinking level. Records both in the session when a run uses them. */
export class ModelSelection {
  readonly #options: ModelSelectionOptions;
  #model: CatalogueModel;
  #thinking: ThinkingLevel;

  constructor(options: ModelSelectionOptions) {
    this.#options = options;
    this.#model = options.model;
    this.#thinking = options.thinking;
  }

  /** With the window that its server has reported. */
  get model(): CatalogueModel {
    return this.#options.models.withLearnedWindow(this.#model);
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

  /** Appends the model and the level to the session, if they changed or the recent entries do not name them. */
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
