import { existsSync } from "node:fs";
import type { AgentNotice, LifecycleEvents, RunResult } from "@bonsai-agent/agent";
import { killRunningCommands } from "@bonsai-agent/agent/host";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { raceAbort } from "@bonsai-agent/messages/host";
import { didYouMean } from "../views/nearest-word.ts";
import { AgentHost } from "./agent-host.ts";
import { openAppContext } from "./app-context.ts";
import { type AgentCall, ExitCode } from "./invocation.ts";
import { type PromptInput, requiredPrompt } from "./prompt-input.ts";
import { terminalUi } from "./terminal-ui.ts";

interface RunPromptOptions<Value> {
  call: AgentCall;
  /** The prompt, if it was read before. */
  given?: PromptInput | undefined;
  signal: AbortSignal;
  onNotice: (notice: AgentNotice) => void;
  listen: (lifecycle: Lifecycle<LifecycleEvents>) => void;
  /** Called before a question is shown, to end a line on the screen. */
  onShow?: () => void;
  onOpen?: (host: AgentHost) => Promise<void>;
  /** Called while the session is still open. */
  onEnd: (result: RunResult, host: AgentHost) => Value;
}

/** Opens the session of a call, sends its prompt and closes everything. Print and JSON mode share it. */
export async function runPrompt<Value>(options: RunPromptOptions<Value>): Promise<Value> {
  const { call, given, signal, onNotice, listen, onShow, onOpen, onEnd } = options;
  const ui = terminalUi({ io: call.io, output: call.output, signal, ...(onShow && { onShow }) });
  try {
    const app = await openAppContext(call, { onNotice, ui, signal, listen });
    try {
      const input = given ?? (await requiredPrompt(app.call));
      const host = await AgentHost.open(app);
      try {
        await onOpen?.(host);
        await host.start();
        return onEnd(await promptUntil(host, input, signal), host);
      } finally {
        await host.close();
      }
    } finally {
      app.close();
    }
  } finally {
    ui?.close();
  }
}

async function promptUntil(host: AgentHost, input: PromptInput, signal: AbortSignal): Promise<RunResult> {
  if (signal.aborted) return { status: "aborted" };
  const stop = () => void host.agent.abort();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await sendPrompt(host, input, { signal, source: "print" });
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Sends a prompt, or runs the extension's command that it calls. Resolves at the end of the work. */
export async function sendPrompt(
  host: AgentHost,
  { text, images }: PromptInput,
  { signal, source }: { signal: AbortSignal; source: "print" | "rpc" },
): Promise<RunResult> {
  const { extensions, ending } = host.app;
  // An extension may have started work with the session.
  await host.agent.idle();
  if (signal.aborted) return { status: "aborted" };
  if (ending.aborted) return { status: "handled" };
  if (extensions.now.hasCommand(text)) return runCommandToEnd(host, text, signal);
  await warnUnknownCommand(host, text);
  return host.agent.prompt(text, { source, ...(images.length === 0 ? {} : { images }) });
}

/**
 * Runs an extension's command and waits for its work, which can move to another session.
 * @returns the last run's result, or `handled`
 * @throws BonsaiError `extension_command_failed`
 */
async function runCommandToEnd(host: AgentHost, text: string, signal: AbortSignal): Promise<RunResult> {
  const { extensions, lifecycle } = host.app;
  let last: RunResult = { status: "handled" };
  const stopListening = lifecycle.on("agent_end", ({ result }) => {
    last = result;
  });
  try {
    await raceAbort(extensions.now.runCommand(text), signal, () => undefined);
    while (host.agent.isBusy && !signal.aborted) await raceAbort(host.agent.idle(), signal, () => undefined);
  } finally {
    stopListening();
  }
  return signal.aborted ? { status: "aborted" } : last;
}

/** Warns about a text that looks like a command. It goes to the model. */
export async function warnUnknownCommand({ app }: Pick<AgentHost, "app">, text: string): Promise<void> {
  const { extensions, resources, onNotice } = app;
  const [, name] = /^\s*\/([a-z][\w:.-]*)(?=\s|$)/i.exec(text) ?? [];
  // The text may begin with a path.
  if (name === undefined || existsSync(`/${name}`) || (await resources.hasCommand(text))) return;
  const names = [...extensions.now.commands, ...(await resources.commands())].map((command) => command.name);
  const more = didYouMean(name.toLowerCase(), names, "/");
  onNotice({
    level: "warning",
    code: "no_such_command",
    message: `Unknown command /${name}. The text went to the model.${more}`,
  });
}

/** Runs a call that Ctrl-C cancels. An error that is the signal's reason is a cancellation, not a failure. */
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
