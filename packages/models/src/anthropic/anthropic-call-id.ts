import { createHash } from "node:crypto";

const allowed = /^[a-zA-Z0-9_-]{1,128}$/;
const KEPT_CHARS = 96;

/**
 * A tool call's id as the Messages API allows it. Ids of other providers (long ones, or with `|` and `:`) become
 * the same legal id each time, for the call and for its result.
 */
export function anthropicCallId(id: string): string {
  if (allowed.test(id)) return id;
  const readable = id.slice(0, KEPT_CHARS).replace(/[^a-zA-Z0-9_-]/g, "_");
  // What was cut or replaced could make two ids one: the hash keeps them apart.
  return `${readable}_${createHash("sha256").update(id).digest("hex").slice(0, 16)}`;
}
