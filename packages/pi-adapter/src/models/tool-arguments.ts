import type { ToolCall } from "@bonsai-agent/messages";
import { deepCopy } from "@bonsai-agent/messages/host";
import type { ToolDeclaration } from "@bonsai-agent/models";
import type { TSchema } from "typebox";
import { Value } from "typebox/value";

/** The arguments of a call, values that only have the wrong type converted. @throws Error where they do not fit */
export function validateToolArguments({ name, parameters }: ToolDeclaration, call: ToolCall): unknown {
  const schema = parameters as TSchema;
  const converted = Value.Convert(schema, deepCopy(call.arguments));
  if (Value.Check(schema, converted)) return converted;
  const problems = [...Value.Errors(schema, converted)].map(
    ({ instancePath, message }) => `${instancePath || "/"}: ${message}`,
  );
  throw new Error(`The arguments of ${name} do not match its parameters. ${problems.join("; ")}`);
}

/** As `validateToolArguments`, for the tool that the call names. */
export function validateToolCall(tools: readonly ToolDeclaration[], call: ToolCall): unknown {
  const tool = tools.find(({ name }) => name === call.name);
  if (tool === undefined) throw new Error(`Unknown tool: ${call.name}.`);
  return validateToolArguments(tool, call);
}
