import type { FlagOptions } from "../api/flag.ts";
import { ExtensionEventBus } from "./extension-event-bus.ts";
import { ExtensionTools } from "./extension-tools.ts";
import type { LoadExtensionsOptions } from "./extensions.ts";
import { type Registration, Registrations } from "./registrations.ts";
import type { ExtensionRoom, RegisteredCommand, RegisteredShortcut } from "./room.ts";

/** The room of one load, empty. */
export function extensionRoom({ host, reservedCommands = [] }: LoadExtensionsOptions): ExtensionRoom {
  const conflict = (what: string) => (earlier: Registration<unknown>, later: Registration<unknown>) =>
    host.onNotice({
      level: "warning",
      code: "extension_conflict",
      message: `${earlier.source} and ${later.source} both register the ${what} ${later.name}: that of ${later.source} stands.`,
    });
  return {
    tools: new ExtensionTools({ onConflict: conflict("tool") }),
    commands: new Registrations<RegisteredCommand>({ onConflict: conflict("command") }),
    flags: new Registrations<FlagOptions>({ onConflict: conflict("flag") }),
    shortcuts: new Registrations<RegisteredShortcut>({ onConflict: conflict("shortcut") }),
    bus: new ExtensionEventBus((scope, channel, error) =>
      host.onNotice({
        level: "warning",
        code: "extension_listener_failed",
        message: `${scope.source} failed at a message on ${channel}: ${error instanceof Error ? error.message : String(error)}`,
      }),
    ),
    reservedCommands: new Set(reservedCommands),
  };
}
