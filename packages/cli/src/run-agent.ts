import { reportFailure, wrongUsage } from "./call/failure.ts";
import type { AgentCall, ExitCode } from "./call/invocation.ts";
import { type CliIo, isInteractiveTerminal } from "./call/io.ts";
import { promptInput, refuseWords } from "./call/prompt-input.ts";
import { excludedTools } from "./call/settings.ts";
import { agentCall } from "./command-line/agent-call.ts";
import { printOverview } from "./command-line/overview.ts";

/** Runs `bonsai [prompt…]` in the mode that its flags name. */
export async function runAgentLine(argv: readonly string[], io: CliIo): Promise<ExitCode> {
  const flags = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : argv.length);
  if (flags.some((word) => word === "--help" || word === "-h")) return printOverview(io);
  const call = agentCall(argv, io);
  try {
    // A client of the Agent Client Protocol appends the words of a login to its own command line.
    if (call.options.mode === "acp" && call.words[0] === "login")
      return await (await import("./command-line/command-line.ts")).runCommand(call.words, io);
    return await runCall(call);
  } catch (error) {
    return reportFailure(error, io, call.output.wantsJson);
  }
}

async function runCall(call: AgentCall): Promise<ExitCode> {
  checkFlags(call);
  if (isInteractive(call)) return (await import("./interactive/interactive-mode.ts")).runInteractive(call);
  if (call.options.resume === true)
    throw wrongUsage(
      "-r needs a session, because there is no terminal to choose one.",
      "Write `bonsai -r ID PROMPT`. Run `bonsai session list` to list the ids.",
    );
  if (call.options.mode === "acp") return (await import("./acp/acp-mode.ts")).runAcp(call);
  if (call.options.mode === "rpc") return (await import("./rpc/rpc-mode.ts")).runRpc(call);
  if (isBare(call)) {
    const input = await promptInput(call);
    if (input === undefined) return printOverview(call.io);
    return (await import("./print/print-mode.ts")).runPrint(call, input);
  }
  if (call.options.mode === "json") return (await import("./print/json-mode.ts")).runJson(call);
  return (await import("./print/print-mode.ts")).runPrint(call);
}

/** `bonsai` without a mode on a terminal is interactive. */
function isInteractive({ options, io }: AgentCall): boolean {
  return options.print !== true && options.mode === "text" && isInteractiveTerminal(io);
}

/** `bonsai` alone. Input may be piped in. */
function isBare({ words, options }: AgentCall): boolean {
  const { mode, ...others } = options;
  return words.length === 0 && Object.keys(others).length === 0 && mode === "text";
}

function checkFlags(call: AgentCall): void {
  const { options, unknownFlags } = call;
  if (options.leaf !== undefined && options.fork === undefined)
    throw wrongUsage("--leaf needs --fork.", "Write `--fork SESSION:ENTRY`.");
  if (options.provider !== undefined && options.model === undefined)
    throw wrongUsage(
      "--provider needs --model.",
      "Write `--model PROVIDER/ID`. Run `bonsai models` to list models.",
    );
  if (options.apiKey !== undefined && options.model === undefined)
    throw wrongUsage("--api-key needs --model.", "Add `--model PROVIDER/ID`: the key is for this provider.");
  excludedTools(options);
  if (options.mode === "acp") refuseSessionFlags(call);
  if ((options.mode === "rpc" || options.mode === "acp") && unknownFlags.length === 0) refuseWords(call);
}

function refuseSessionFlags({ options }: AgentCall): void {
  const given = ["continue", "resume", "session", "fork"].find(
    (name) => typeof options[name] === "string" || options[name] === true,
  );
  if (given === undefined) return;
  throw wrongUsage(`--mode acp does not take --${given}.`, "Open the session in the editor.");
}
