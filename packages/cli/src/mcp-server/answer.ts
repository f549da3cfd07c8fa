import type { SecretFilter } from "@bonsai-agent/messages";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { knownError, wrongUsage } from "../call/failure.ts";

/** The answer of a tool, before secrets are redacted. */
export interface Answer {
  text: string;
  /** The same content for programs. Some clients show only this to the model. */
  structured?: Record<string, unknown>;
}

/** About 6,000 tokens: some clients cut longer answers. */
const PAGE_CHARS = 24_000;

/** One page of a long text, with a note about the next one. @throws BonsaiError `wrong_usage` for a page after the end */
export function pageOf(text: string, page = 1, chars = PAGE_CHARS): string {
  const count = Math.max(1, Math.ceil(text.length / chars));
  if (page > count) throw wrongUsage(`There is no page ${page}.`, `The last page is ${count}.`);
  const part = text.slice((page - 1) * chars, page * chars);
  return page < count ? `${part}\n\n[Page ${page} of ${count}. Continue with page ${page + 1}.]` : part;
}

export function toolResult({ text, structured }: Answer, secrets: SecretFilter): CallToolResult {
  const content = [{ type: "text" as const, text: secrets.text(text) }];
  return { content, ...(structured && { structuredContent: secrets.value(structured) }) };
}

/** The error as an answer, so that the model can correct its call. */
export function errorResult(error: unknown, secrets: SecretFilter): CallToolResult {
  const { message, hint } = knownError(error);
  return { content: [{ type: "text", text: secrets.text(`${message} ${hint}`) }], isError: true };
}
