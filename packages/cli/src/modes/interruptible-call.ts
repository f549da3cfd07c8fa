import { killRunningCommands } from "@bonsai-agent/agent";
import { ExitCode } from "../exit-code.ts";
import type { AgentCall } from "../invocation.ts";

/** Runs a call that Ctrl-C cancels; what breaks off with the signal's own reason was cancelled, and did not fail. */
export function interruptibleCall(
  { io }: AgentCall,
  work: (signal: AbortSignal) => Promise<ExitCode>,
): Promise<ExitCode> {
  return io.interruptible(async (signal) => {
    try {
      return await work(signal);
    } catch (error) {
      if (signal.aborted && error === signal.reason) return ExitCode.cancelled;
      throw error;
    }
  }, killRunningCommands);
}
