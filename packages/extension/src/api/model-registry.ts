import type { AssistantMessage, Message } from "@bonsai-agent/messages";
import type { CatalogueModel, StreamEvent, ThinkingLevel, ToolDeclaration } from "@bonsai-agent/models";

/** What a model is asked, beside the conversation that is worked in. */
export interface ModelContext {
  systemPrompt?: string | undefined;
  messages: readonly Message[];
  tools?: readonly ToolDeclaration[] | undefined;
}

export interface AskOptions {
  /** Tokens of the longest answer. Default: the model's. */
  maxTokens?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Default off. */
  reasoning?: ThinkingLevel | undefined;
}

export type RequestAuth =
  | { ok: true; apiKey?: string; headers?: Readonly<Record<string, string>>; baseUrl?: string }
  | { ok: false; error: string };

/**
 * The models that are known, those that extensions brought included, and requests of an extension's own. Where the
 * host's models cannot be opened (a damaged `models.json`), each use throws what opening them threw.
 */
export interface ModelRegistry {
  getAll(): CatalogueModel[];
  /** Those whose provider has a key or needs none. */
  getAvailable(): CatalogueModel[];
  /** By its exact id; also the model in use where no catalogue lists it. */
  find(provider: string, modelId: string): CatalogueModel | undefined;
  hasConfiguredAuth(model: CatalogueModel): boolean;
  getApiKeyForProvider(provider: string): Promise<string | undefined>;
  getApiKeyAndHeaders(model: CatalogueModel): Promise<RequestAuth>;
  /** Resolves with the answer, also a failed one: look at `stopReason` and `errorMessage`. */
  complete(model: CatalogueModel, context: ModelContext, options?: AskOptions): Promise<AssistantMessage>;
  stream(model: CatalogueModel, context: ModelContext, options?: AskOptions): AsyncIterable<StreamEvent>;
}
