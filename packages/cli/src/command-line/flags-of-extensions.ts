import type { FlagOptions } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { extensionChoice, mayHaveExtensions } from "../call/extension-choice.ts";
import type { Invocation } from "../call/invocation.ts";
import type { CliIo } from "../call/io.ts";
import { agentCallSettings } from "../call/settings.ts";
import { agentCall } from "./agent-call.ts";

/** Flags by their names, in the order in which they were registered. */
type NamedFlags = readonly (readonly [name: string, flag: FlagOptions])[];

/**
 * The flags of the extensions of a call, which are loaded for it and unloaded again.
 * @throws BonsaiError where one that `-e` names cannot be loaded
 */
export async function flagsOfExtensions(
  invocation: Pick<Invocation, "io" | "options" | "output">,
): Promise<NamedFlags> {
  const { io } = invocation;
  const home = bonsaiHome(io.env);
  if (!mayHaveExtensions(extensionChoice(invocation, { home, settings: agentCallSettings(invocation) })))
    return [];
  const { openSessionExtensions } = await import("../call/session-extensions.ts");
  return io.interruptible(async (signal) => {
    const opened = await openSessionExtensions({ invocation, signal });
    const flags = [...(opened?.flags ?? [])];
    await opened?.close();
    return flags;
  });
}

/** Help does not wait longer for an extension that does not come to an end. */
const mostWaitMs = 2_000;

/** The flags of the extensions that a call would load. Help comes whatever is wrong with them. */
export async function foundFlags(argv: readonly string[], io: CliIo): Promise<NamedFlags> {
  const words = argv.filter((word) => !["--help", "-h", "help"].includes(word));
  try {
    const flags = flagsOfExtensions(agentCall([...words, "--quiet"], io));
    return (await raceAbort(flags, AbortSignal.timeout(mostWaitMs), () => undefined)) ?? [];
  } catch (error) {
    // The call itself reports problems of settings and extensions.
    if (BonsaiError.is(error)) return [];
    throw error;
  }
}
