import { existsSync } from "node:fs";
import type { Agent, AgentNotice, LifecycleEvents, RunResult } from "@bonsai-agent/agent";
import { killRunningCommands } from "@bonsai-agent/agent/host";
import type { AgentHost } from "@bonsai-agent/app/agent-host";
import type { CallExtensions } from "@bonsai-agent/app/call-extensions";
import { type AgentCall, ExitCode } from "@bonsai-agent/app/invocation";
import { nearestWord } from "@bonsai-agent/app/nearest-word";
import { untilAborted } from "@bonsai-agent/app/questions";
import type { CommandInfo } from "@bonsai-agent/extension/host";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { PromptInput } from "./prompt-input.ts";

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

/** Where commands of extensions run. */
interface CommandPlace {
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
async function runCommandToEnd(
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

/** What to tell of a text that looks like the command of an extension and is none: it goes to the model as it stands. */
export function noSuchCommand(text: string, commands: readonly CommandInfo[]): AgentNotice | undefined {
  const [, name] = /^\s*\/([a-z][\w:-]*)(?=\s|$)/i.exec(text) ?? [];
  // It may as well begin with a path.
  if (name === undefined || existsSync(`/${name}`)) return undefined;
  const names = commands.map((command) => command.name);
  const meant = nearestWord(name.toLowerCase(), names);
  const more = meant === undefined ? "" : ` Did you mean /${meant}?`;
  return {
    level: "warning",
    code: "no_such_command",
    message: `No extension has the command /${name}: the text went to the model.${more}`,
  };
}

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
