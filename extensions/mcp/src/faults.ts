import { textHead } from "@bonsai-agent/extension";
import type { StandardSchemaV1 } from "@modelcontextprotocol/client";

/** Reason why a connection is over. */
export class ServerFault extends Error {}

/** A text on a server's standard output that is not a message. */
export class NoMessage extends Error {
  constructor(line: string) {
    super(`The server wrote text to standard output that is not an MCP message: ${textHead(line, 80)}`);
  }
}

/** Size of one message, with images and files in it. A server that sends more is closed. */
export const MAX_MESSAGE_BYTES = 32 << 20;
/** For the SDK's own limits, where a limit of Bonsai ends the request before. */
export const NEVER_MS = 2_147_483_647;

export function tooLong(): ServerFault {
  return new ServerFault(`The server sent a message larger than ${MAX_MESSAGE_BYTES >> 20} MB.`);
}

/** The SDK leaves out the status of a reply, and `fetch` the reason why it failed. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { status, data, cause } = error as Error & { status?: unknown; data?: { text?: unknown } };
  if (typeof status === "number") {
    const text = typeof data?.text === "string" ? data.text.trim() : "";
    const isShown = text !== "" && !text.startsWith("<");
    return `The server answered with status ${status}${isShown ? `: ${text}` : "."}`;
  }
  return error.message === "fetch failed" && cause instanceof Error
    ? `Cannot reach the server: ${cause.message || (cause as NodeJS.ErrnoException).code}`
    : error.message;
}

/** Accepts every result: Bonsai reads the results of careless servers itself. */
export const anyResult: StandardSchemaV1<unknown, Record<string, unknown>> = {
  "~standard": {
    version: 1,
    vendor: "bonsai",
    validate: (value) => ({ value: value as Record<string, unknown> }),
  },
};
