import { BonsaiError } from "@bonsai-agent/messages";
import { agentCall } from "../agent-call.ts";
import type { CliIo } from "../io.ts";
import { flagsOfExtensions, type NamedFlags } from "./flags-of-extensions.ts";

/** The flags of the extensions that a call would load. Help comes whatever is wrong with them. */
export async function foundFlags(argv: readonly string[], io: CliIo): Promise<NamedFlags> {
  const words = argv.filter((word) => !["--help", "-h", "help"].includes(word));
  try {
    return await flagsOfExtensions(agentCall([...words, "--quiet"], io));
  } catch (error) {
    // What is wrong with settings or extensions, the call itself will say.
    if (BonsaiError.is(error)) return [];
    throw error;
  }
}
