import type { RunResult } from "@bonsai-agent/agent";
import type { AgentHost } from "../work/agent-host.ts";
import type { PromptInput } from "../work/prompt-input.ts";

/** The signal that interrupts the call aborts the run in good order. */
export async function promptUntil(
  { agent }: Pick<AgentHost, "agent">,
  { text, images }: PromptInput,
  signal: AbortSignal,
): Promise<RunResult> {
  if (signal.aborted) return { status: "aborted" };
  const stop = () => void agent.abort();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await agent.prompt(text, { source: "print", ...(images.length === 0 ? {} : { images }) });
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
