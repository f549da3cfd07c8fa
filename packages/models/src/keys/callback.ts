import { BonsaiError, shortened } from "@bonsai-agent/messages";

/** What a provider answers a browser with: a code, or why there is none. */
export type CallbackAnswer = { code: string } | { error: unknown };

/** What the parameters of a callback say; undefined where that is nothing, or more than one thing. */
export function answerOf(given: URLSearchParams): CallbackAnswer | undefined {
  const [code, ...codes] = given.getAll("code");
  const [error, ...errors] = given.getAll("error");
  if (codes.length > 0 || errors.length > 0) return undefined;
  if (error) return { error: refusal(error, given.get("error_description")) };
  return code ? { code } : undefined;
}

/** A provider's word for a refused login as an error. */
export function refusal(error: string, description?: string | null): BonsaiError {
  const said = description ? `${shownLine(error)}: ${shownLine(description)}` : shownLine(error);
  if (error === "access_denied") {
    return new BonsaiError({
      code: "login_denied",
      message: `The login was denied (${said}).`,
      hint: "Start the login again and allow it in the browser.",
    });
  }
  return new BonsaiError({
    code: "login_refused",
    message: `The provider refused the login (${said}).`,
    hint: "Start the login again. If the provider refuses it again, check the settings of the provider or extension.",
  });
}

/** The user cancelled the login. */
export function loginCancelled(): BonsaiError {
  return new BonsaiError({
    code: "login_cancelled",
    message: "Login cancelled. Nothing was stored.",
    hint: "Start it again with /login.",
  });
}

const MAX_CHARS = 200;

/** On one line, and short: it comes from outside. */
function shownLine(text: string): string {
  return shortened(text.replace(/[\s\p{Cc}\p{Cf}]+/gu, " ").trim(), MAX_CHARS);
}
