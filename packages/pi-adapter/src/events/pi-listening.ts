import type {
  AdaptedExtension,
  ExtensionAPI,
  ExtensionContext,
  HandlerOptions,
} from "@bonsai-agent/extension";
import type { Tell } from "../api/once-told.ts";
import { overlay } from "../overlay.ts";
import { missingEvents } from "./missing-events.ts";
import { piPayloads, updatesForPi } from "./pi-event.ts";
import { piResults } from "./pi-result.ts";
import type { PromptEvent, PromptEvents } from "./prompt-events.ts";
import { addedPrompt, promptOptions } from "./prompt-options.ts";

/** A handler as pi's `on` takes it. */
type PiHandler = (event: object, ctx: ExtensionContext) => unknown;

export interface PiListeningOptions {
  api: ExtensionAPI;
  extension: AdaptedExtension;
  isForPi: boolean;
  prompts: PromptEvents;
  tell: Tell;
}

/** How an extension of pi listens: events that are called otherwise here, and shapes that differ. */
export class PiListening {
  readonly #options: PiListeningOptions;

  constructor(options: PiListeningOptions) {
    this.#options = options;
  }

  readonly on = (event: string, handler: PiHandler, settings?: HandlerOptions): (() => void) => {
    const { tell, isForPi, extension } = this.#options;
    const why = missingEvents[event];
    if (why !== undefined) {
      tell(event, `listens to ${event}, which never comes in Bonsai: ${why}`);
      return () => {};
    }
    if (event === "agent_settled") return this.#listen("agent_end", settled(handler), settings);
    const reasons = formerStarts[event];
    if (reasons !== undefined)
      return this.#listen("session_start", started(event, reasons, handler), settings);
    if (event === "ui_prompt_start" || event === "ui_prompt_end")
      return extension.keep(this.#options.prompts.on(event, this.#promptListener(handler)));
    if (event === "before_agent_start") return this.#listen(event, this.#starting(handler), settings);
    return this.#listen(event, isForPi ? this.#adapted(event, handler) : handler, settings);
  };

  #listen(event: string, handler: PiHandler, settings: HandlerOptions | undefined): () => void {
    return this.#options.api.on(event as "agent_end", handler as never, settings);
  }

  /** No lifecycle emits these events, so that a throw is told here. */
  #promptListener(handler: PiHandler): (event: PromptEvent, ctx: ExtensionContext) => void {
    return (event, ctx) => {
      void (async () => handler(event, ctx))().catch((error: unknown) =>
        this.#options.tell(event.type, `failed in its handler of ${event.type}: ${String(error)}`),
      );
    };
  }

  /** A handler may answer with a prompt, or add to the parts of the prompt that it is shown. */
  #starting(handler: PiHandler): PiHandler {
    return async (event, ctx) => {
      const systemPromptOptions = promptOptions({
        cwd: ctx.cwd,
        selectedTools: this.#options.api.getActiveTools(),
      });
      const result = (await handler({ ...event, systemPromptOptions }, ctx)) as StartResult | undefined;
      const added = addedPrompt(systemPromptOptions);
      const message = result?.message && { message: { display: true, ...result.message } };
      if (added === "") return result && { ...result, ...message };
      const systemPrompt = result?.systemPrompt ?? (event as { systemPrompt: string }).systemPrompt;
      return { ...result, ...message, systemPrompt: `${systemPrompt}\n\n${added}` };
    };
  }

  #adapted(event: string, handler: PiHandler): PiHandler {
    if (event === "message_update") return severalUpdates(handler);
    const payloadOf = (piPayloads as Record<string, ((payload: never) => object) | undefined>)[event];
    const resultOf = piResults[event];
    return async (payload, ctx) => {
      const result = await handler(payloadOf?.(payload as never) ?? payload, ctx);
      if (resultOf === undefined || typeof result !== "object" || result === null) return result;
      const ours = resultOf(result as Record<string, unknown>);
      if (typeof ours !== "string") return ours;
      this.#options.tell(event, `wants what Bonsai cannot do: ${ours}`);
      return undefined;
    };
  }
}

/** Events of earlier versions of pi, by the reasons of `session_start` that took their place. */
const formerStarts: Readonly<Record<string, readonly string[]>> = {
  session_switch: ["new", "resume"],
  session_fork: ["fork"],
};

function started(type: string, reasons: readonly string[], handler: PiHandler): PiHandler {
  return (event, ctx) =>
    reasons.includes((event as { reason: string }).reason) ? handler({ ...event, type }, ctx) : undefined;
}

interface StartResult {
  systemPrompt?: string;
  message?: object;
}

/**
 * Bonsai's runs are settled when they end: compactions, retries and what was queued are behind them. The agent still
 * waits for the handlers themselves; as pi sees it, it is idle.
 */
function settled(handler: PiHandler): PiHandler {
  return (_event, ctx) => {
    const idle = overlay(ctx, { isIdle: () => !ctx.hasPendingMessages() });
    return handler({ type: "agent_settled" }, idle);
  };
}

function severalUpdates(handler: PiHandler): PiHandler {
  const updates = updatesForPi();
  return async (event, ctx) => {
    for (const each of updates(event as never)) await handler(each, ctx);
  };
}
