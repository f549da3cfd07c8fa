import type { Model } from "@bonsai-agent/messages";
import type { ModelCompat } from "./model-compat.ts";

/**
 * The wire protocols that Bonsai speaks. `scripted` plays a scenario file; `extension` is none: who answers is given to
 * `ModelClient.serve`.
 */
export type ProviderApi =
  | "anthropic-messages"
  | "openai-responses"
  | "openai-chat"
  | "scripted"
  | "extension";

/** How much a model may think before it answers; models that cannot think ignore it. */
export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh";

/** Levels from the least to the most. */
export const thinkingLevels: readonly ThinkingLevel[] = ["off", "minimal", "low", "medium", "high", "xhigh"];

/** Who serves models: where, in which protocol, and which variable of the environment holds the key. */
export interface ProviderConfig {
  /** The name before the slash in `provider/id`. */
  provider: string;
  api: ProviderApi;
  /** Without a trailing slash; for `scripted` the path of the scenario file. */
  baseUrl: string;
  /** Absent where no key is needed. */
  apiKeyEnv?: string | undefined;
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>> | undefined;
  compat?: ModelCompat | undefined;
}

/** A model that can be asked: its sizes and prices, and how to reach it. */
export interface CatalogueModel extends Model, ProviderConfig {
  name: string;
  /** What a user message may hold. */
  input: readonly ("text" | "image")[];
  /** True when the model can think before it answers. */
  reasoning: boolean;
}
