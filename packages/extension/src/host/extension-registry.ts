import type { EntryRenderer, MessageRenderer } from "../api/drawing.ts";
import type {
  ArgumentCompletion,
  CommandOptions,
  EventBus,
  FlagOptions,
  ShortcutOptions,
} from "../api/extension-api.ts";
import type { ExtensionCommandContext, ExtensionContext } from "../api/extension-context.ts";
import { badArgument } from "./extension-errors.ts";
import type { ProviderRegistrar } from "./extension-providers.ts";
import { type ExtensionScope, runOf } from "./extension-scope.ts";
import type { ExtensionTools, Registrations } from "./registrations.ts";
import type { ScopedHost, ShownBy } from "./scoped-ui.ts";

/** What was registered, and how to run it: with a context of the extension that registered it. */
interface Runnable<Options, Args extends unknown[]> {
  readonly options: Options;
  run(...args: Args): Promise<void>;
}

export interface RegisteredCommand extends Runnable<CommandOptions, [args: string]> {
  complete(prefix: string): Promise<readonly ArgumentCompletion[] | null>;
}

export type RegisteredShortcut = Runnable<ShortcutOptions, []>;

/** A renderer and the extension whose code it is. */
export interface Registered<Renderer> {
  readonly renderer: Renderer;
  readonly scope: ExtensionScope;
}

/** What all extensions share. */
export interface ExtensionRoom {
  readonly tools: ExtensionTools;
  readonly commands: Registrations<RegisteredCommand>;
  readonly flags: Registrations<FlagOptions>;
  readonly shortcuts: Registrations<RegisteredShortcut>;
  readonly messageRenderers: Registrations<Registered<MessageRenderer>>;
  readonly entryRenderers: Registrations<Registered<EntryRenderer>>;
  readonly providers: ProviderRegistrar;
  readonly bus: ExtensionEventBus;
  readonly shownBy: ShownBy;
  /** Names of commands that the front end has itself. */
  readonly reservedCommands: ReadonlySet<string>;
}

/** One extension in that room: what its API is made of. */
export interface ExtensionPlace {
  readonly room: ExtensionRoom;
  readonly scope: ExtensionScope;
  /** With a user interface that belongs to the extension. */
  readonly host: ScopedHost;
  context(signal?: AbortSignal): ExtensionContext;
  commandContext(): ExtensionCommandContext;
}

interface Listener {
  channel: string;
  scope: ExtensionScope;
  handler: (data: unknown) => void | Promise<void>;
}

/** Told of a handler that failed. */
type OnListenerError = (scope: ExtensionScope, channel: string, error: unknown) => void;

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
