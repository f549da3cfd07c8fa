import type { ToolResult } from "@bonsai-agent/agent";

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

/** Without details that cannot be stored: what the model sees is worth more than they. */
export function storable(result: ToolResult): ToolResult {
  try {
    JSON.stringify(result.details);
    return result;
  } catch (error) {
    const unstorable = error instanceof Error ? error.message.split("\n")[0] : String(error);
    return { ...result, details: { unstorable } };
  }
}
