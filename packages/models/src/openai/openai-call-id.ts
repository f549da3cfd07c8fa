import { createHash } from "node:crypto";
import type { OpenAiServer } from "./openai-servers.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX = "call_";

/**
 * An id of a tool call as a server takes it. An id that came from another provider and does not fit is replaced by one
 * that depends on nothing but itself, so that call and result agree and the cached prefix stays the same.
 */
export function wireCallId(id: string, { pattern, madeChars }: OpenAiServer["callId"]): string {
  if (pattern.test(id)) return id;
  const digest = createHash("sha256").update(id).digest();
  const made = Array.from(digest, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
  return madeChars > PREFIX.length + 8 ? `${PREFIX}${made}`.slice(0, madeChars) : made.slice(0, madeChars);
}
