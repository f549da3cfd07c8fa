import type { AgentNotice } from "@bonsai-agent/agent";
import type { EntryRenderer, MessageRenderer } from "../api/drawing.ts";
import type {
  ArgumentCompletion,
  CommandOptions,
  EventBus,
  FlagOptions,
  ShortcutOptions,
} from "../api/extension-api.ts";
import type { ExtensionCommandContext, ExtensionContext } from "../api/extension-context.ts";
import type { ExtensionUI } from "../api/extension-ui.ts";
import { badArgument, failureText } from "./extension-errors.ts";
import type { ExtensionHost } from "./extension-host.ts";
import { type ExtensionScope, runOf } from "./extension-scope.ts";
import type { OpenedModels } from "./model-registry.ts";
import { ExtensionTools, Registrations } from "./registrations.ts";

export interface RegisteredCommand {
  readonly options: CommandOptions;
  run(args: string): Promise<void>;
  complete(prefix: string): Promise<readonly ArgumentCompletion[] | null>;
}

interface RegisteredShortcut {
  readonly options: ShortcutOptions;
  run(): Promise<void>;
}

export type ExtensionRegistry = ReturnType<typeof extensionRegistry>;

/** The registrations of all extensions. @param reservedCommands names of built-in commands */
export function extensionRegistry(host: ExtensionHost, reservedCommands: Iterable<string> = []) {
  const onNotice = (notice: AgentNotice) => host.onNotice(notice);
  const first = (what: string) => ({ what, wins: "first" as const, onNotice });
  const later = (what: string) => ({ what, wins: "later" as const, onNotice });
  return {
    tools: new ExtensionTools(first("tool")),
    commands: new Registrations<RegisteredCommand>(later("command")),
    flags: new Registrations<FlagOptions>(first("flag")),
    shortcuts: new Registrations<RegisteredShortcut>(later("key")),
    messageRenderers: new Registrations<MessageRenderer>(first("message renderer")),
    entryRenderers: new Registrations<EntryRenderer>(first("entry renderer")),
    bus: eventBus(host),
    /** The extension that showed each thing last: an extension removes only its own. */
    shownBy: new Map<string, ExtensionScope>(),
    reservedCommands: new Set(reservedCommands) as ReadonlySet<string>,
  };
}

/** The command of `/name arguments`, with trimmed arguments; undefined if no extension has it. */
export function commandIn({ commands }: ExtensionRegistry, text: string) {
  const [, name = "", args = ""] = /^\/(\S+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  const command = commands.get(name);
  return command && { ...command, args };
}

/** A running extension, for its API and its contexts. */
export interface ExtensionRuntime {
  readonly scope: ExtensionScope;
  readonly registry: ExtensionRegistry;
  readonly host: ExtensionHost;
  readonly models: OpenedModels;
  /** The user interface as the extension sees it. */
  ui(): ExtensionUI;
  /** @param signal of the event or the tool call; default: no work that can be stopped */
  context(signal?: AbortSignal): ExtensionContext;
  commandContext(): ExtensionCommandContext;
  /** Reloads all extensions. */
  reload(): Promise<unknown>;
}

interface Listener {
  channel: string;
  scope: ExtensionScope;
  handler: (data: unknown) => void | Promise<void>;
}

/** @returns the bus of each extension */
function eventBus(host: ExtensionHost): (scope: ExtensionScope) => EventBus {
  const listeners = new Set<Listener>();
  const call = async ({ channel, scope, handler }: Listener, data: unknown) => {
    try {
      await runOf(scope, () => handler(data));
    } catch (error) {
      host.onNotice({
        level: "warning",
        /** A handler of the extension bus `events` threw. */
        code: "extension_listener_failed",
        message: failureText(`The listener of ${scope.source} on ${channel}`, error),
      });
    }
  };
  return (scope) => ({
    emit(channel, data) {
      scope.checkLoaded("events.emit");
      for (const listener of [...listeners]) if (listener.channel === channel) void call(listener, data);
    },
    on(channel, handler) {
      scope.checkLoaded("events.on");
      if (typeof handler !== "function") throw badArgument(scope, "events.on", "a function", handler);
      const listener = { channel, scope, handler };
      listeners.add(listener);
      return scope.keep(() => void listeners.delete(listener));
    },
  });
}
