import type { ExtensionAPI, ExtensionFactory } from "../api/extension-api.ts";
import { extensionFailure } from "./extension-errors.ts";
import { runOf } from "./extension-work.ts";
import type { ExtensionScope } from "./scope.ts";
import { withTimeLimit } from "./time-limit.ts";

export interface StartOptions {
  scope: ExtensionScope;
  /** Reads the module. */
  factory: () => Promise<ExtensionFactory>;
  api: ExtensionAPI;
}

/**
 * Reads an extension and lets it register what it has.
 * @throws BonsaiError, which says where and why it failed
 */
export async function startExtension({ scope, factory, api }: StartOptions): Promise<void> {
  try {
    const start = await runOf(scope, factory);
    await withTimeLimit(scope.source, async () => runOf(scope, () => start(api)));
    scope.start();
  } catch (error) {
    throw extensionFailure(scope, error);
  }
}
