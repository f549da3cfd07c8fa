import type { ExtensionTool } from "../src/index.ts";

/** A tool that says its text. */
export function saying(name: string, text = name): ExtensionTool {
  return {
    name,
    description: `Says ${text}.`,
    parameters: { type: "object", properties: {} },
    execute: async () => ({ content: [{ type: "text", text }] }),
  };
}
