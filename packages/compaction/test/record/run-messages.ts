import type { Message } from "@bonsai-agent/messages";
import type { SourceMessage } from "../../src/record/statements.ts";

let calls = 0;

/** A call of a tool and its result; the entry of the result has the name that is given. */
export function toolRun(
  name: string,
  args: Record<string, unknown>,
  { output = "", isError = false, details, entryId = "r" }: RunOptions = {},
): SourceMessage[] {
  const id = `call${calls++}`;
  return [
    said("assistant", [{ type: "toolCall", id, name, arguments: args }], `${entryId}-call`),
    {
      message: {
        role: "toolResult",
        toolCallId: id,
        toolName: name,
        content: [{ type: "text", text: output }],
        isError,
        details,
        timestamp: 0,
      },
      entryId,
    },
  ];
}

export interface RunOptions {
  output?: string;
  isError?: boolean;
  details?: unknown;
  entryId?: string;
}

/** A shell command; above 0 the exit code is told as agents tell it. */
export function ran(command: string, output = "", exitCode = 0, entryId = "r"): SourceMessage[] {
  const told = exitCode === 0 ? output : `${output}\n\nCommand exited with code ${exitCode}`;
  return toolRun("bash", { command }, { output: told, isError: exitCode !== 0, entryId });
}

export function said(role: "user" | "assistant", content: unknown, entryId = "m"): SourceMessage {
  return { message: { role, content, timestamp: 0 } as unknown as Message, entryId };
}
