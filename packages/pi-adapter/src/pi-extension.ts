import type { ExtensionAPI, ExtensionContext } from "@bonsai-agent/extension";
import type { AdaptedExtension, SendUserMessageOptions } from "@bonsai-agent/extension/host";
import { contentText } from "@bonsai-agent/messages";

/** An extension that gets pi's names. */
export interface PiExtension {
  /** Its API of Bonsai. */
  api: ExtensionAPI;
  extension: AdaptedExtension;
  /** True if it was written for pi: it gets pi's shapes too. */
  isForPi: boolean;
  /** Shared by all extensions. */
  prompts: PromptEvents;
  notifyOnce: NotifyOnce;
}

/** A handler of pi's `on`. */
export type PiHandler = (event: object, ctx: ExtensionContext) => unknown;

/** Notifies once per thing. `what` is the rest of a sentence that begins with the extension's name. */
export type NotifyOnce = (thing: string, what: string) => void;

export function onceFor({ name, onNotice }: AdaptedExtension): NotifyOnce {
  const known = new Set<string>();
  return (thing, what) => {
    if (known.has(thing)) return;
    known.add(thing);
    onNotice({
      level: "info",
      /** A pi extension uses something that has no effect in Bonsai. One notice per feature. */
      code: "pi_not_supported",
      message: `${name} ${what}.`,
    });
  };
}

type UserText = Parameters<ExtensionAPI["sendUserMessage"]>[0];

/** pi's `sendUserMessage`: with `expandPromptTemplates`, a text can also run a command of an extension. */
export function sendAsUser({ api, extension }: PiExtension) {
  return (content: UserText, options: SendUserMessageOptions = {}): void => {
    if (options.expandPromptTemplates === true && extension.runCommand(contentText(content))) return;
    api.sendUserMessage(content, options);
  };
}

/**
 * A view of `base` in which the fields of `extra` count first. Getters of `base` stay lazy, and its methods keep their `this`.
 * Assignments change the view only.
 */
export function overlay<Base extends object, Extra extends object>(
  base: Base,
  extra: Extra,
): Omit<Base, keyof Extra> & Extra {
  const own: object = extra;
  return new Proxy(own, {
    get(_target, key) {
      if (Object.hasOwn(own, key)) return Reflect.get(own, key);
      const value: unknown = Reflect.get(base, key);
      return typeof value === "function" ? value.bind(base) : value;
    },
    has: (_target, key) => Object.hasOwn(own, key) || Reflect.has(base, key),
    ownKeys: () => [...new Set([...Reflect.ownKeys(base), ...Reflect.ownKeys(own)])],
    getOwnPropertyDescriptor(_target, key) {
      const descriptor =
        Reflect.getOwnPropertyDescriptor(own, key) ?? Reflect.getOwnPropertyDescriptor(base, key);
      return descriptor && { ...descriptor, configurable: true };
    },
  }) as Omit<Base, keyof Extra> & Extra;
}

interface Prompt {
  kind: "select" | "confirm" | "input" | "editor" | "custom";
  /** Absent for components. */
  title?: string;
}

export interface PromptEvent extends Prompt {
  type: "ui_prompt_start" | "ui_prompt_end";
  reason: "ui_prompt";
}

type PromptListener = (event: PromptEvent, ctx: ExtensionContext) => void;

/** Owner of the listeners of pi's `ui_prompt_start` and `ui_prompt_end`: an extension asks the user. */
export class PromptEvents {
  readonly #listeners = new Set<{ type: PromptEvent["type"]; listener: PromptListener }>();

  on(type: PromptEvent["type"], listener: PromptListener): () => void {
    const entry = { type, listener };
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /** @param ctx of the asking extension */
  async around<Answer>(prompt: Prompt, ctx: ExtensionContext, ask: () => Promise<Answer>): Promise<Answer> {
    this.#emit({ type: "ui_prompt_start", reason: "ui_prompt", ...prompt }, ctx);
    try {
      return await ask();
    } finally {
      this.#emit({ type: "ui_prompt_end", reason: "ui_prompt", ...prompt }, ctx);
    }
  }

  #emit(event: PromptEvent, ctx: ExtensionContext): void {
    for (const { type, listener } of [...this.#listeners]) if (type === event.type) listener(event, ctx);
  }
}
