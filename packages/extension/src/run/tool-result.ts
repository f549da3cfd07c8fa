import type { ToolResult } from "@bonsai-agent/agent";
import { usageSchema } from "@bonsai-agent/messages/schemas";
import { readableError } from "../load/readable-error.ts";

/**
 * What a tool gave back, as a result: a text alone is one. Undefined for what cannot be one; the agent tells the model
 * of it.
 */
export function toolResultOf(returned: unknown): ToolResult | undefined {
  if (typeof returned === "string") return { content: [{ type: "text", text: returned }] };
  if (typeof returned !== "object" || returned === null) return undefined;
  const { content, ...others } = returned as ToolResult;
  const said: unknown = content;
  return { ...others, content: typeof said === "string" ? [{ type: "text", text: said }] : content };
}

/** Without details and counts of tokens that cannot be stored: what the model sees is worth more than they. */
export function storable({ usage, isError, ...result }: ToolResult): ToolResult {
  return {
    ...result,
    ...("details" in result ? { details: storableDetails(result.details) } : {}),
    ...(isError === undefined ? {} : { isError: Boolean(isError) }),
    ...(usage !== undefined && usageSchema.safeParse(usage).success ? { usage } : {}),
  };
}

function storableDetails(details: unknown): unknown {
  try {
    JSON.stringify(details);
    return details;
  } catch (error) {
    // The agent names what is nested too deep.
    if (error instanceof RangeError) return details;
    return { unstorable: readableError(error).message.split("\n")[0] };
  }
}
