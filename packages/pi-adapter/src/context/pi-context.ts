import type { CompactOptions, ExtensionContext, ExtensionUI, ModelRegistry } from "@bonsai-agent/extension";
import type { PromptEvents } from "../events/prompt-events.ts";
import { promptOptions } from "../events/prompt-options.ts";
import { useContext } from "../models/model-desk.ts";
import { piModel } from "../models/pi-model.ts";
import { overlay } from "../overlay.ts";
import { piRegistry } from "./pi-registry.ts";
import { piUi } from "./pi-ui.ts";

export interface PiContextOptions {
  /** Of an extension that was written for pi: it gets pi's shapes also where ours mean something else. */
  isForPi: boolean;
  prompts: PromptEvents;
}

/** A context with pi's names laid over it; what is behind them is looked up when it is asked for. */
export function piContext<Context extends ExtensionContext>(
  context: Context,
  { isForPi, prompts }: PiContextOptions,
): Context {
  let ui: ExtensionUI | undefined;
  let registry: ModelRegistry | undefined;
  useContext(context);
  return overlay(context, {
    get ui() {
      ui ??= piUi(context, prompts);
      return ui;
    },
    get model() {
      return context.model === undefined ? undefined : piModel(context.model);
    },
    get modelRegistry() {
      registry ??= isForPi ? piRegistry(context.modelRegistry) : context.modelRegistry;
      return registry;
    },
    scopedModels: [],
    compact: (options?: CompactOptions) => context.compact(piCompactOptions(options)),
    getSystemPromptOptions: () => promptOptions({ cwd: context.cwd }),
  }) as unknown as Context;
}

/** `onComplete` is told pi's fields of the result beside ours. */
function piCompactOptions({ onComplete, ...options }: CompactOptions = {}): CompactOptions {
  if (onComplete === undefined) return options;
  return {
    ...options,
    onComplete(result) {
      const { outcome, compactionEntry: entry } = result;
      onComplete({
        ...result,
        summary: entry?.summary ?? "",
        firstKeptEntryId: entry?.firstKeptEntryId,
        tokensBefore: outcome.tokensBefore,
        estimatedTokensAfter: outcome.tokensAfter,
        details: entry?.details,
      } as typeof result);
    },
  };
}
