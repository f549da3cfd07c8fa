import type { SecretFilter } from "@bonsai-agent/messages";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { knownError, wrongUsage } from "../call/failure.ts";

/** About 6,000 tokens: some clients cut longer answers. */
const PAGE_CHARS = 24_000;

/** One page of a long text, with a note about the next one. @throws BonsaiError `wrong_usage` for a page after the end */
export function pageOf(text: string, page = 1, chars = PAGE_CHARS): string {
  const count = Math.max(1, Math.ceil(text.length / chars));
  if (page > count) throw wrongUsage(`There is no page ${page}.`, `The last page is ${count}.`);
  const part = text.slice((page - 1) * chars, page * chars);
  return page < count ? `${part}\n\n[Page ${page} of ${count}. Continue with page ${page + 1}.]` : part;
}

/** An answer as text. A structure is also written as JSON text, for clients that show only text. */
export function toolResult(answer: string | Record<string, unknown>, secrets: SecretFilter): CallToolResult {
  const shown = secrets.value(answer);
  if (typeof shown === "string") return { content: [{ type: "text", text: shown }] };
  return { content: [{ type: "text", text: JSON.stringify(shown) }], structuredContent: shown };
}

/** The error as an answer, so that the model can correct its call. */
export function errorResult(error: unknown, secrets: SecretFilter): CallToolResult {
  const { message, hint } = knownError(error);
  return { content: [{ type: "text", text: secrets.text(`${message} ${hint}`) }], isError: true };
}
