import type {
  CompactOptions,
  ExtensionAPI,
  ExtensionCommandContext,
  ExtensionContext,
  ExtensionUI,
  ModelRegistry,
} from "@bonsai-agent/extension";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Tell } from "../api/once-told.ts";
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
  api: Pick<ExtensionAPI, "sendMessage" | "sendUserMessage">;
  prompts: PromptEvents;
  tell: Tell;
}

/** A context with pi's names laid over it; what is behind them is looked up when it is asked for. */
export function piContext<Context extends ExtensionContext>(
  context: Context,
  { isForPi, api, prompts, tell }: PiContextOptions,
): Context {
  let ui: ExtensionUI | undefined;
  let registry: ModelRegistry | undefined;
  useContext(context);
  return overlay(context, {
    get ui() {
      ui ??= piUi(context, { prompts, tell });
      return ui;
    },
    get model() {
      const { model } = context;
      return model === undefined || !isForPi ? model : piModel(model);
    },
    get modelRegistry() {
      registry ??= isForPi ? piRegistry(context.modelRegistry) : context.modelRegistry;
      return registry;
    },
    scopedModels: [],
    compact: (options?: CompactOptions) => context.compact(piCompactOptions(options)),
    getSystemPromptOptions: () => promptOptions({ cwd: context.cwd }),
    // pi has these on the context of a session that takes the place of another.
    sendMessage: async (...args: Parameters<ExtensionAPI["sendMessage"]>) => api.sendMessage(...args),
    sendUserMessage: async (...args: Parameters<ExtensionAPI["sendUserMessage"]>) =>
      api.sendUserMessage(...args),
    ...newSessionOf(context),
  }) as unknown as Context;
}

type NewSession = ExtensionCommandContext["newSession"];

/** Of a command's context: `setup` writes to a session that is not open yet, which Bonsai has no place for. */
function newSessionOf(context: ExtensionContext): { newSession?: NewSession } {
  if (!("newSession" in context)) return {};
  return {
    async newSession(options) {
      if (options !== undefined && "setup" in options) throw setupMissing();
      return (context as ExtensionCommandContext).newSession(options);
    },
  };
}

function setupMissing(): BonsaiError {
  return new BonsaiError({
    code: "pi_method_missing",
    message: "newSession of pi takes a setup, which Bonsai has no place for.",
    hint: "Use withSession: its context has sendMessage and sendUserMessage.",
  });
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
