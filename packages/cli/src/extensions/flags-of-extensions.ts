import type { FlagOptions } from "@bonsai-agent/extension";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "../invocation.ts";
import { agentCallSettings } from "../settings.ts";
import { extensionChoice, mayHaveExtensions } from "./extension-choice.ts";

/** Flags by their names, in the order in which they were registered. */
export type NamedFlags = readonly (readonly [name: string, flag: FlagOptions])[];

/**
 * The flags of the extensions of a call, which are loaded for it and unloaded again.
 * @throws BonsaiError where one that `-e` names cannot be loaded
 */
export async function flagsOfExtensions(
  invocation: Pick<Invocation, "io" | "options" | "output">,
): Promise<NamedFlags> {
  const { io } = invocation;
  const home = bonsaiHome({ ...io.env });
  if (!mayHaveExtensions(extensionChoice(invocation, { home, settings: agentCallSettings(invocation) })))
    return [];
  const { openSessionExtensions } = await import("./session-extensions.ts");
  return io.interruptible(async (signal) => {
    const opened = await openSessionExtensions({ invocation, signal });
    const flags = [...(opened?.flags ?? [])];
    await opened?.close();
    return flags;
  });
}
