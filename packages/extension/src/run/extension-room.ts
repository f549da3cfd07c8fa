import type { FlagOptions } from "../api/flag.ts";
import type { EntryRenderer, MessageRenderer } from "../api/renderer.ts";
import type { OpenedModels } from "./context/opened-models.ts";
import { failureText } from "./extension-errors.ts";
import { ExtensionEventBus } from "./extension-event-bus.ts";
import { ExtensionTools } from "./extension-tools.ts";
import type { LoadExtensionsOptions } from "./extensions.ts";
import { providerRegistrar } from "./provider-registrar.ts";
import { type Registration, Registrations } from "./registrations.ts";
import type { ExtensionRoom, Registered, RegisteredCommand, RegisteredShortcut } from "./room.ts";

/** An empty room for the extensions of a host. */
export function extensionRoom(
  { host, reservedCommands = [] }: Pick<LoadExtensionsOptions, "host" | "reservedCommands">,
  models: OpenedModels,
): ExtensionRoom {
  const onConflict = (what: string) => (earlier: Registration<unknown>, later: Registration<unknown>) =>
    host.onNotice({
      level: "warning",
      code: "extension_conflict",
      message: `${earlier.source} and ${later.source} both have the ${what} ${later.name}: that of ${later.source} stands.`,
    });
  return {
    tools: new ExtensionTools({ onConflict: onConflict("tool") }),
    commands: new Registrations<RegisteredCommand>({ onConflict: onConflict("command") }),
    flags: new Registrations<FlagOptions>({ onConflict: onConflict("flag") }),
    shortcuts: new Registrations<RegisteredShortcut>({ onConflict: onConflict("key") }),
    messageRenderers: new Registrations<Registered<MessageRenderer>>({
      onConflict: onConflict("renderer of messages"),
    }),
    entryRenderers: new Registrations<Registered<EntryRenderer>>({
      onConflict: onConflict("renderer of entries"),
    }),
    providers: providerRegistrar({ models }),
    bus: new ExtensionEventBus(({ source }, channel, error) =>
      host.onNotice({
        level: "warning",
        code: "extension_listener_failed",
        message: failureText(`${source} at a message on ${channel}`, error),
      }),
    ),
    shownBy: new Map(),
    reservedCommands: new Set(reservedCommands),
  };
}
