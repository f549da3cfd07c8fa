import type { ExtensionContext } from "./extension-context.ts";

export interface ShortcutOptions {
  description?: string | undefined;
  handler(ctx: ExtensionContext): void | Promise<void>;
}
