import type { ArgumentCompletion, CommandOptions } from "../api/command.ts";
import type { ExtensionCommandContext, ExtensionContext } from "../api/extension-context.ts";
import type { FlagOptions } from "../api/flag.ts";
import type { EntryRenderer, MessageRenderer } from "../api/renderer.ts";
import type { ShortcutOptions } from "../api/shortcut.ts";
import type { ExtensionEventBus } from "./extension-event-bus.ts";
import type { ExtensionTools } from "./extension-tools.ts";
import type { ProviderRegistrar } from "./provider-registrar.ts";
import type { Registrations } from "./registrations.ts";
import type { ExtensionScope } from "./scope.ts";
import type { ScopedHost } from "./scoped-host.ts";
import type { ShownBy } from "./scoped-ui.ts";

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
