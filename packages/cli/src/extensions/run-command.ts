import type { Agent, LifecycleEvents, RunResult } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { CallExtensions } from "./call-extensions.ts";
import { untilAborted } from "./dialog-end.ts";

/** Where commands of extensions run. */
export interface CommandPlace {
  extensions: CallExtensions;
  lifecycle: Lifecycle<LifecycleEvents>;
  /** The agent at work; a command can go on in another. */
  agent: () => Agent;
}

/**
 * Runs a command of an extension, and waits for the work that it gave the agent.
 * @returns the result of the last run that came of it; `handled` where none did
 * @throws BonsaiError `extension_command_failed`
 */
export async function runCommandToEnd(
  { extensions, lifecycle, agent }: CommandPlace,
  text: string,
  signal: AbortSignal,
): Promise<RunResult> {
  let last: RunResult = { status: "handled" };
  const stopListening = lifecycle.on("agent_end", ({ result }) => {
    last = result;
  });
  try {
    await untilAborted(extensions.runCommand(text), signal);
    while (agent().isBusy && !signal.aborted) await untilAborted(agent().idle(), signal);
  } finally {
    stopListening();
  }
  return signal.aborted ? { status: "aborted" } : last;
}
