import type { FlagOptions } from "@bonsai-agent/extension";
import { BonsaiError } from "@bonsai-agent/messages";
import { bonsaiHome } from "@bonsai-agent/session";
import { agentCall } from "../command-line.ts";
import type { CliIo } from "../io.ts";
import { agentCallSettings } from "../settings.ts";
import { extensionChoice, mayHaveExtensions } from "./extension-choice.ts";

/** The flags of the extensions that a call would load. Help comes whatever is wrong with them. */
export async function foundFlags(
  argv: readonly string[],
  io: CliIo,
): Promise<readonly (readonly [name: string, flag: FlagOptions])[]> {
  const words = argv.filter((word) => !["--help", "-h", "help"].includes(word));
  try {
    const invocation = agentCall([...words, "--quiet"], io);
    const home = bonsaiHome({ ...io.env });
    if (!mayHaveExtensions(extensionChoice(invocation, { home, settings: agentCallSettings(invocation) })))
      return [];
    const { openSessionExtensions } = await import("./session-extensions.ts");
    const { signal } = new AbortController();
    const opened = await openSessionExtensions({ invocation, signal });
    const flags = [...(opened?.flags ?? [])];
    await opened?.close();
    return flags;
  } catch (error) {
    // What is wrong with settings or extensions, the call itself will say.
    if (BonsaiError.is(error)) return [];
    throw error;
  }
}
