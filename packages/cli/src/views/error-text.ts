import { BonsaiError } from "@bonsai-agent/messages";

/** An error as the chat shows it: what happened, and how to mend it. */
export function errorText(error: unknown): string {
  if (BonsaiError.is(error)) return `${error.message} [${error.code}]\n${error.hint}`;
  return error instanceof Error ? error.message : String(error);
}

/** The same for a panel, which has a line or two for it. */
export function errorLine(error: unknown): string {
  if (BonsaiError.is(error)) return [error.message, error.hint].filter(Boolean).join(" ");
  return error instanceof Error ? error.message : String(error);
}
