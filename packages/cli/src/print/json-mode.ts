import type { RunResult } from "@bonsai-agent/agent";
import { type EventJson, errorJson, eventJson, writeEvents } from "../call/event-json.ts";
import { reportFailure } from "../call/failure.ts";
import { type AgentCall, ExitCode } from "../call/invocation.ts";
import { JsonLinesOut } from "../call/json-lines.ts";
import { interruptibleCall, runPrompt } from "../call/run-prompt.ts";

/**
 * Runs one prompt: prints the session's header and each lifecycle event as a JSON line. The last line is `agent_end`, or
 * `run_failed` if the run failed without it.
 */
export function runJson(call: AgentCall): Promise<ExitCode> {
  return interruptibleCall(call, async (signal) => {
    const out = new JsonLinesOut(call.io.stdout, signal);
    let last: EventJson | undefined;
    const write = (event: EventJson) => {
      if (event.type !== "agent_end") return out.write(event);
      // Events of the closing session come before it, so a reader of this line has read everything.
      last = event;
      return undefined;
    };
    try {
      const result = await runPrompt({
        call,
        signal,
        onNotice: (notice) => call.output.notify(notice),
        listen: (lifecycle) => writeEvents(lifecycle, write),
        onOpen: (host) => out.write(host.agent.session.header),
        onEnd: (result) => result,
      });
      last ??= eventJson("agent_end", { messages: [], result });
      return exitCodeOf(result, call);
    } catch (error) {
      if (out.hasWritten) last = { type: "run_failed", error: errorJson(error) };
      throw error;
    } finally {
      if (last !== undefined) await out.write(last);
    }
  });
}

function exitCodeOf({ status, error }: RunResult, { io }: AgentCall): ExitCode {
  if (status === "aborted") return ExitCode.cancelled;
  return status === "failed" ? reportFailure(error, io, true) : ExitCode.done;
}
