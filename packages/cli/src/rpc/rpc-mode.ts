import { killRunningCommands } from "@bonsai-agent/agent";
import { ExitCode } from "../exit-code.ts";
import type { AgentCall } from "../invocation.ts";
import { tellEvents } from "../modes/event-json.ts";
import { JsonLinesOut } from "../modes/json-lines-out.ts";
import { AgentHost } from "../work/agent-host.ts";
import { RpcDispatcher } from "./dispatcher.ts";
import { linesIn } from "./json-lines-in.ts";
import type { RpcNote } from "./protocol.ts";
import { RpcRuns } from "./runs.ts";

/** Commands on standard input, responses and events on standard output, one JSON value a line, until the input ends. */
export function runRpc(call: AgentCall): Promise<ExitCode> {
  return call.io.interruptible(async (signal) => {
    const out = new JsonLinesOut(call.io.stdout, signal);
    const note = (line: RpcNote) => void out.write(line);
    const host = await AgentHost.open(call, (notice) => note({ type: "notice", ...notice }));
    const { lifecycle } = host.workshop;
    tellEvents(lifecycle, (event) => {
      if (event.type === "session_start") void out.write(host.agent.session.header);
      return out.write(event);
    });
    const runs = new RpcRuns(lifecycle, note);
    const shutdown = new AbortController();
    const work = { host, runs, shutdown: () => shutdown.abort() };
    const dispatcher = new RpcDispatcher({ work, respond: (response) => out.write(response) });
    try {
      await host.start();
      await serve({ call, dispatcher, signal, shutdown: shutdown.signal });
      if (signal.aborted || shutdown.signal.aborted) await host.agent.abort();
      await runs.idle();
    } finally {
      await host.close();
    }
    return signal.aborted ? ExitCode.cancelled : ExitCode.done;
  }, killRunningCommands);
}

interface Serving {
  call: AgentCall;
  dispatcher: RpcDispatcher;
  /** Interrupts at once. */
  signal: AbortSignal;
  /** Aborted by a command: its response is written first. */
  shutdown: AbortSignal;
}

/** Takes lines until the input ends or a signal comes; an input that stays open is let go of. */
async function serve({ call, dispatcher, signal, shutdown }: Serving): Promise<void> {
  const { stdin } = call.io;
  if (stdin === undefined) return;
  const interrupted = new Promise<undefined>((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  const lines = linesIn(stdin);
  while (!signal.aborted && !shutdown.aborted) {
    const next = await Promise.race([lines.next(), interrupted]);
    if (next === undefined || next.done) break;
    await Promise.race([dispatcher.receive(next.value), interrupted]);
  }
  if (signal.aborted || shutdown.aborted) stdin.destroy?.();
}
