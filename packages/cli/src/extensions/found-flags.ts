import { BonsaiError } from "@bonsai-agent/messages";
import { agentCall } from "../agent-call.ts";
import type { CliIo } from "../io.ts";
import { untilAborted } from "./dialog-end.ts";
import { flagsOfExtensions, type NamedFlags } from "./flags-of-extensions.ts";

/** Help does not wait longer for an extension that does not come to an end. */
const patienceMs = 2_000;

/** The flags of the extensions that a call would load. Help comes whatever is wrong with them. */
export async function foundFlags(argv: readonly string[], io: CliIo): Promise<NamedFlags> {
  const words = argv.filter((word) => !["--help", "-h", "help"].includes(word));
  try {
    const flags = flagsOfExtensions(agentCall([...words, "--quiet"], io));
    return (await untilAborted(flags, AbortSignal.timeout(patienceMs))) ?? [];
  } catch (error) {
    // What is wrong with settings or extensions, the call itself will say.
    if (BonsaiError.is(error)) return [];
    throw error;
  }
}
