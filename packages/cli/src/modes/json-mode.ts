import type { RunResult } from "@bonsai-agent/agent";
import { AgentHost } from "@bonsai-agent/app/agent-host";
import { openAppContext } from "@bonsai-agent/app/app-context";
import { type AgentCall, ExitCode } from "@bonsai-agent/app/invocation";
import { reportFailure } from "../failure.ts";
import { terminalUi } from "../terminal-ui.ts";
import { type EventJson, errorJson, eventJson, tellEvents } from "./event-json.ts";
import { JsonLinesOut } from "./json-lines.ts";
import { type PromptInput, requiredPrompt } from "./prompt-input.ts";
import { interruptibleCall, promptUntil } from "./run-prompt.ts";

/**
 * One prompt: the session's header, each lifecycle event, and at last `agent_end`, one JSON line each. Once the header
 * is written, a last line comes: `run_failed` where the run broke off without `agent_end`.
 */
export function runJson(call: AgentCall): Promise<ExitCode> {
  return interruptibleCall(call, async (signal) => {
    const out = new JsonLinesOut(call.io.stdout, signal);
    const ui = terminalUi({ io: call.io, output: call.output, signal });
    let last: EventJson | undefined;
    const tell = (event: EventJson) => {
      if (event.type !== "agent_end") return out.write(event);
      // What closing tells comes before it: who reads it has read everything.
      last = event;
      return undefined;
    };
    try {
      const workshop = await openAppContext(call, {
        tell: (notice) => call.output.notify(notice),
        ui,
        signal,
        listen: (lifecycle) => tellEvents(lifecycle, tell),
      });
      try {
        const input = await requiredPrompt(workshop.call);
        const host = await AgentHost.open(workshop);
        await out.write(host.agent.session.header);
        const result = await runAndClose(host, input, signal);
        last ??= eventJson("agent_end", { messages: [], result });
        return exitCodeOf(result, call);
      } catch (error) {
        if (out.hasWritten) last = { type: "run_failed", error: errorJson(error) };
        throw error;
      } finally {
        workshop.close();
        if (last !== undefined) await out.write(last);
      }
    } finally {
      ui?.close();
    }
  });
}

async function runAndClose(host: AgentHost, input: PromptInput, signal: AbortSignal): Promise<RunResult> {
  try {
    await host.start();
    return await promptUntil(host, input, signal);
  } finally {
    await host.close();
  }
}

function exitCodeOf({ status, error }: RunResult, { io }: AgentCall): ExitCode {
  if (status === "aborted") return ExitCode.cancelled;
  return status === "failed" ? reportFailure(error, io, true) : ExitCode.done;
}
