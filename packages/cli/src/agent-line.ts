import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { grammar } from "./grammar.ts";
import type { CliIo } from "./io.ts";
import { nearestWord } from "./nearest-word.ts";

/**
 * True when a command line is for the agent: its first word is no command.
 * @throws BonsaiError `unknown_command`, when it looks like a command that was mistyped: nothing is sent to a model then.
 */
export function isAgentLine(argv: readonly string[], io: CliIo): boolean {
  const [first, ...rest] = argv.filter((word) => word !== "--json");
  if (first === undefined) return argv.length === 0;
  if (commandNames.includes(first)) return false;
  refuseMistyped(first, rest, io);
  return true;
}

const commandNames = grammar.map(({ name }) => name);

function refuseMistyped(first: string, rest: readonly string[], io: CliIo): void {
  // A flag is no word; which flags there are, the agent's own grammar knows.
  if (first.startsWith("-")) return;
  const meant = nearestWord(first.toLowerCase(), [...commandNames, "help"]);
  const asksHelp = rest.length === 1 && (rest[0] === "--help" || rest[0] === "-h");
  if (meant === undefined ? !asksHelp : !canFollow(meant, rest, io)) return;
  throw new BonsaiError({
    code: "unknown_command",
    message: `Unknown command '${first}'.${meant === undefined ? "" : ` Did you mean ${meant}?`}`,
    hint: "`bonsai --help` lists the commands. `bonsai -p WORDS` sends words to the model, whatever they are.",
  });
}

/**
 * Whether a command could be called with what follows: with its own flags, or with no more words than it takes.
 * Typing a short prompt again costs less than a request that nobody meant.
 */
function canFollow(name: string, rest: readonly string[], io: CliIo): boolean {
  const { args = [], options = [] } = grammar.find((command) => command.name === name) ?? {};
  const flags = new Set(["--help", "-h", ...options.flatMap(({ flags }) => flags.split(/[ ,]+/))]);
  const [next] = rest;
  if (next !== undefined && existsSync(resolve(io.cwd, next))) return true;
  if (rest.some((word) => word.startsWith("-") && flags.has(word.split("=")[0]!))) return true;
  return rest.length <= Math.max(1, args.length);
}
