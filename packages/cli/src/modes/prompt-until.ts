import type { RunResult } from "@bonsai-agent/agent";
import { noSuchCommand } from "../extensions/no-such-command.ts";
import { runCommandToEnd } from "../extensions/run-command.ts";
import type { AgentHost } from "../work/agent-host.ts";
import type { PromptInput } from "../work/prompt-input.ts";

/**
 * Sends a prompt, or runs the extension's command that it is. The signal that interrupts the call aborts the work in
 * good order.
 */
export async function promptUntil(
  host: AgentHost,
  input: PromptInput,
  signal: AbortSignal,
): Promise<RunResult> {
  if (signal.aborted) return { status: "aborted" };
  const stop = () => void host.agent.abort();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await say(host, input, signal);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

async function say(host: AgentHost, { text, images }: PromptInput, signal: AbortSignal): Promise<RunResult> {
  const { extensions, lifecycle, seat } = host.workshop;
  // An extension may have given the agent work when the session started.
  await host.agent.idle();
  if (signal.aborted) return { status: "aborted" };
  if (seat.ending.aborted) return { status: "handled" };
  if (extensions.hasCommand(text))
    return runCommandToEnd({ extensions, lifecycle, agent: () => host.agent }, text, signal);
  const notice = noSuchCommand(text, extensions.commands);
  if (notice !== undefined) host.workshop.onNotice(notice);
  return host.agent.prompt(text, { source: "print", ...(images.length === 0 ? {} : { images }) });
}
