import type { ExtensionContext } from "@bonsai-agent/extension";

export type PromptKind = "select" | "confirm" | "input" | "editor" | "custom";

interface Prompt {
  kind: PromptKind;
  /** Absent for a component. */
  title?: string;
}

export interface PromptEvent extends Prompt {
  type: "ui_prompt_start" | "ui_prompt_end";
  reason: "ui_prompt";
}

type Listener = (event: PromptEvent, ctx: ExtensionContext) => void;

/** Owner of who wants to know that an extension asks the user something: pi's `ui_prompt_start` and `ui_prompt_end`. */
export class PromptEvents {
  readonly #listeners = new Set<{ type: PromptEvent["type"]; listener: Listener }>();

  on(type: PromptEvent["type"], listener: Listener): () => void {
    const entry = { type, listener };
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /** `ctx` is of the extension that asks. */
  async around<Answer>(prompt: Prompt, ctx: ExtensionContext, ask: () => Promise<Answer>): Promise<Answer> {
    this.#announce({ type: "ui_prompt_start", reason: "ui_prompt", ...prompt }, ctx);
    try {
      return await ask();
    } finally {
      this.#announce({ type: "ui_prompt_end", reason: "ui_prompt", ...prompt }, ctx);
    }
  }

  #announce(event: PromptEvent, ctx: ExtensionContext): void {
    for (const { type, listener } of [...this.#listeners]) if (type === event.type) listener(event, ctx);
  }
}
