/** Words for how much a model shall think, from the least to the most; `default` is "think, as you see fit". */
export const effortWords = ["none", "minimal", "low", "medium", "default", "high", "xhigh", "max"] as const;

export type Effort = (typeof effortWords)[number];

/** How a model can be told to think: in Anthropic Messages, in Chat Completions, and in either not at all. */
export const thinkingStyles = {
  "anthropic-messages": ["budget", "adaptive", "none"],
  "openai-chat": ["reasoning_effort", "reasoning", "switch", "none"],
} as const;

/** Where a server differs from what is known of it, or from what is taken for granted. Default of each: what is known. */
export interface ModelCompat {
  /**
   * How the model is told to think. Anthropic Messages: `budget` (a number of tokens), `adaptive` (an effort). Chat
   * Completions: the field `reasoning_effort`, the field `reasoning` (`{effort}`), `switch` (`thinking: {type}`).
   */
  thinking?: (typeof thinkingStyles)[keyof typeof thinkingStyles][number] | undefined;
  /** The efforts that the model knows; with `none` its thinking can be switched off. Default: low, medium, high. */
  efforts?: readonly Effort[] | undefined;
  /** Chat Completions: the field in which what the model thought goes back with its message. */
  thinkingBack?: "reasoning_content" | "reasoning_details" | "none" | undefined;
  /** Chat Completions: the name of the cap of the answer. */
  maxTokensField?: "max_tokens" | "max_completion_tokens" | undefined;
  /** Chat Completions: whether `stream_options` is taken; without it many servers tell no usage. */
  streamOptions?: boolean | undefined;
}

/** True where somebody said how the model is told to think: then it can. */
export function canThink(compat: ModelCompat | undefined): boolean {
  return compat?.thinking !== undefined && compat.thinking !== "none";
}
