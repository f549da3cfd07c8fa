import type { EventBus } from "../api/event-bus.ts";
import { badArgument } from "./bad-argument.ts";
import { runOf } from "./extension-work.ts";
import type { ExtensionScope } from "./scope.ts";

interface Listener {
  channel: string;
  scope: ExtensionScope;
  handler: (data: unknown) => void | Promise<void>;
}

/** Told of a handler that failed. */
export type OnListenerError = (scope: ExtensionScope, channel: string, error: unknown) => void;

/** Carries messages between the extensions of one load. */
export class ExtensionEventBus {
  readonly #onError: OnListenerError;
  readonly #listeners = new Set<Listener>();

  constructor(onError: OnListenerError) {
    this.#onError = onError;
  }

  /** The bus as one extension sees it. */
  of(scope: ExtensionScope): EventBus {
    return {
      emit: (channel, data) => {
        scope.checkLoaded("events.emit");
        this.#emit(channel, data);
      },
      on: (channel, handler) => {
        scope.checkLoaded("events.on");
        if (typeof handler !== "function") throw badArgument(scope, "events.on", "a function", handler);
        const listener = { channel, scope, handler };
        this.#listeners.add(listener);
        return scope.keep(() => void this.#listeners.delete(listener));
      },
    };
  }

  #emit(channel: string, data: unknown): void {
    for (const { scope, handler } of [...this.#listeners].filter(
      (listener) => listener.channel === channel,
    )) {
      const failed = (error: unknown) => this.#onError(scope, channel, error);
      try {
        Promise.resolve(runOf(scope, () => handler(data))).catch(failed);
      } catch (error) {
        failed(error);
      }
    }
  }
}
