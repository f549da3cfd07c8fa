import { Command } from "commander";
import {
  addedOptions,
  type ExtensionFlags,
  givenFlags,
  isOurs,
  optionOf,
  parsed,
  settle,
} from "./commander-parts.ts";
import type { AgentCall } from "./invocation.ts";
import type { CliIo } from "./io.ts";
import { Output } from "./output.ts";
import { agentFlags } from "./work/agent-flags.ts";

/**
 * Reads the command line of an agent's call. What it does not know may be a flag of an extension: then the words are
 * preliminary until `withExtensionFlags` has read them again.
 * @throws BonsaiError `wrong_usage`.
 */
export function agentCall(argv: readonly string[], io: CliIo): AgentCall {
  const command = agentCommand(io).allowUnknownOption();
  parsed(command, argv);
  const unknownFlags = unknownFlagsOf(command, argv);
  const { json, extensions, ...others } = command.opts();
  const mode = json === true ? "json" : (others.mode ?? "text");
  const options = { ...others, mode, ...(extensions === false ? { extensions } : {}) };
  const output = new Output(io, mode !== "text", others.quiet === true);
  return { words: command.args, options, io, output, unknownFlags, argv };
}

/** What a call says once the flags of its extensions are known. */
export interface FlaggedCall {
  call: AgentCall;
  /** The extensions' flags that were given, by name. */
  values: ReadonlyMap<string, boolean | string>;
}

/**
 * Reads a call again, now with the flags of its extensions. A flag of ours that an extension has too stays ours.
 * @throws BonsaiError `wrong_usage` for a flag that nobody knows
 */
export function withExtensionFlags(call: AgentCall, flags: ExtensionFlags): FlaggedCall {
  if (call.unknownFlags.length === 0) return { call, values: new Map() };
  const command = agentCommand(call.io);
  const added = addedOptions(command, flags);
  parsed(command, call.argv);
  const values = givenFlags(command, added);
  return { call: { ...call, words: command.args, unknownFlags: [] }, values };
}

/** The names of flags that an extension registered and nobody can give it: they are the command's own. */
export function takenFlags(flags: ExtensionFlags, io: CliIo): readonly string[] {
  if (flags.size === 0) return [];
  const command = agentCommand(io);
  return [...flags.keys()].filter((name) => isOurs(command, name));
}

function agentCommand(io: CliIo): Command {
  const command = new Command("bonsai").argument("[prompt...]").option("--json").helpOption(false);
  settle(command, io);
  for (const option of agentFlags) command.addOption(optionOf(option));
  return command;
}

/** Words behind `--` are no flags. */
function unknownFlagsOf(command: Command, argv: readonly string[]): readonly string[] {
  const end = argv.indexOf("--");
  const behind = end === -1 ? 0 : argv.length - end - 1;
  return command.args
    .slice(0, command.args.length - behind)
    .filter((word) => /^-./.test(word) && word !== "--");
}
