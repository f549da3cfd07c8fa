import type { ExtensionContext } from "./extension-context.ts";

export interface ShortcutOptions {
  description?: string;
  handler(ctx: ExtensionContext): void | Promise<void>;
}
