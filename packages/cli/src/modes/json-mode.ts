import type { RunResult } from "@bonsai-agent/agent";
import { ExitCode } from "../exit-code.ts";
import { reportFailure } from "../failure.ts";
import type { AgentCall } from "../invocation.ts";
import { AgentHost } from "../work/agent-host.ts";
import type { PromptInput } from "../work/prompt-input.ts";
import { type EventJson, tellEvents } from "./event-json.ts";
import { JsonLinesOut } from "./json-lines-out.ts";
import { promptUntil } from "./prompt-until.ts";

/** One prompt: the session's header, each lifecycle event, and at last `agent_end`, one JSON line each. */
export function runJson(call: AgentCall, input: PromptInput): Promise<ExitCode> {
  return call.io.interruptible(async (signal) => {
    const out = new JsonLinesOut(call.io.stdout);
    const host = await AgentHost.open(call, (notice) => call.output.tell(notice));
    let last: EventJson | undefined;
    let result: RunResult;
    try {
      await out.write(host.agent.session.header);
      tellEvents(host.workshop.lifecycle, (event) => {
        if (event.type !== "agent_end") return out.write(event);
        // What closing tells comes before it: who reads it has read everything.
        last = event;
        return undefined;
      });
      await host.start();
      result = await promptUntil(host, input, signal);
    } finally {
      await host.close();
    }
    if (last !== undefined) await out.write(last);
    return exitCodeOf(result, call);
  });
}

function exitCodeOf({ status, error }: RunResult, { io }: AgentCall): ExitCode {
  if (status === "aborted") return ExitCode.cancelled;
  return status === "failed" ? reportFailure(error, io, true) : ExitCode.done;
}
