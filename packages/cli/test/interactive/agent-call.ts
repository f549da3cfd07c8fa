import { parseArgs } from "node:util";
import type { AgentCall } from "../../src/call/invocation.ts";
import type { CliIo } from "../../src/call/io.ts";
import { Output } from "../../src/call/output.ts";

const options = {
  continue: { type: "boolean", short: "c" },
  resume: { type: "boolean", short: "r" },
  extension: { type: "string", short: "e", multiple: true },
  session: { type: "string" },
  database: { type: "string" },
  model: { type: "string" },
  thinking: { type: "string" },
  "use-theme": { type: "string" },
  approve: { type: "boolean" },
} as const;

/** A call as the command reads it, with no other flags than these tests have. */
export function agentCall(argv: readonly string[], io: CliIo): AgentCall {
  const { values: flags, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
  const { "use-theme": useTheme, ...others } = flags;
  const values = { ...others, ...(useTheme !== undefined && { useTheme }) };
  return {
    ...{ words: positionals, options: { ...values, mode: "text" }, io, output: new Output(io, false) },
    ...{ argv, unknownFlags: [], version: "0.0.0" },
    withFlags() {
      return { call: this, values: new Map(), taken: [] };
    },
  };
}
