import { BonsaiError } from "@bonsai-agent/messages";

/** An error as data. */
export interface ErrorJson {
  code: string;
  message: string;
  hint: string;
}

export function errorJson(error: unknown): ErrorJson {
  if (BonsaiError.is(error)) return { code: error.code, message: error.message, hint: error.hint };
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: "unexpected_error",
    message: `Something unexpected happened: ${message}`,
    hint: "This is a mistake in bonsai; please report it.",
  };
}
