import type { CustomEntry } from "@bonsai-agent/session";
import type { Component } from "./component.ts";
import type { ExtensionMessage } from "./extension-message.ts";
import type { Theme } from "./theme.ts";

export interface RenderOptions {
  /** Whether the user wants to see all of it. */
  expanded: boolean;
}

/**
 * Draws messages of one `customType` in the chat: asked anew whenever something of them has changed. Where it gives
 * nothing, or throws, they are drawn as without it.
 */
export type MessageRenderer<Details = unknown> = (
  message: ExtensionMessage<Details>,
  options: RenderOptions,
  theme: Theme,
) => Component | undefined;

/** As a {@link MessageRenderer}, for entries of `appendEntry`, which are not shown without one. */
export type EntryRenderer<Data = unknown> = (
  entry: CustomEntry & { data?: Data },
  options: RenderOptions,
  theme: Theme,
) => Component | undefined;

export interface ToolRenderOptions extends RenderOptions {
  /** True for what the tool has put out so far. */
  isPartial: boolean;
}

/** What a tool's renderers know of the call. */
export interface ToolRenderContext<Args = unknown> {
  args: Args;
  toolCallId: string;
  cwd: string;
  /** Kept for this call, for both of its renderers to write to. */
  state: Record<string, unknown>;
  /** What this renderer gave the last time, to be used again; undefined the first time. */
  lastComponent: Component | undefined;
  /** Has this call drawn anew. */
  invalidate(): void;
  executionStarted: boolean;
  /** False while the model still writes the arguments. */
  argsComplete: boolean;
  isPartial: boolean;
  expanded: boolean;
  isError: boolean;
}
