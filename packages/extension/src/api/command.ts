import type { ExtensionCommandContext } from "./extension-context.ts";

export interface ArgumentCompletion {
  value: string;
  label: string;
  description?: string | undefined;
}

export interface CommandOptions {
  description?: string | undefined;
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
