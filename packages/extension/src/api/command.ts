import type { ExtensionCommandContext } from "./extension-context.ts";

export interface ArgumentCompletion {
  value: string;
  label: string;
  description?: string;
}

export interface CommandOptions {
  description?: string;
  getArgumentCompletions?(prefix: string): ArgumentCompletion[] | null | Promise<ArgumentCompletion[] | null>;
  /** `args`: what stands behind the command's name, trimmed. */
  handler(args: string, ctx: ExtensionCommandContext): void | Promise<void>;
}

export interface CommandInfo {
  /** Without the slash. */
  name: string;
  description?: string;
  /** The extension's path. */
  extensionPath: string;
}
