import { BonsaiError, shortened } from "@bonsai-agent/messages";
import type { LoginCallbacks } from "./provider-login.ts";

/** The parameters of a callback: a code, or an error. */
export type CallbackAnswer = { code: string } | { error: unknown };

/** Reads the parameters of a callback. Returns undefined if they contain neither code nor error, or several. */
export function codeFrom(given: URLSearchParams): CallbackAnswer | undefined {
  const [code, ...codes] = given.getAll("code");
  const [error, ...errors] = given.getAll("error");
  if (codes.length > 0 || errors.length > 0) return undefined;
  if (error) return { error: refusal(error, given.get("error_description")) };
  return code ? { code } : undefined;
}

/** Makes the error for a login that the provider refused. */
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

export function loginCancelled(): BonsaiError {
  return new BonsaiError({
    code: "login_cancelled",
    message: "Login cancelled. Nothing was stored.",
    hint: "Start it again with /login.",
  });
}

const MAX_CHARS = 200;

/** A provider's text on one short line. */
function shownLine(text: string): string {
  return shortened(text.replace(/[\s\p{Cc}\p{Cf}]+/gu, " ").trim(), MAX_CHARS);
}

/**
 * Asks for the code until the user pastes it: the address at the end of the login, `code`, or `code#state`. A paste from
 * another login is asked for again. Never settles if the user pastes nothing.
 * @throws BonsaiError `login_denied`, `login_refused` if the pasted address contains an error
 */
export async function pastedCode(
  { onManualCodeInput, onProgress }: Pick<LoginCallbacks, "onManualCodeInput" | "onProgress">,
  state: string,
  signal: AbortSignal,
): Promise<string> {
  while (!signal.aborted) {
    const text = (await onManualCodeInput()).trim();
    if (text === "") continue;
    const answer = readPaste(text, state);
    if (typeof answer === "string") onProgress(answer);
    else if ("error" in answer) throw answer.error;
    else return answer.code;
  }
  return new Promise(() => {});
}

const OTHER_LOGIN = "The pasted code belongs to another login. Log in at the address above.";

/** Returns the callback in a pasted text, or a message that explains why it contains none. */
function readPaste(text: string, state: string): CallbackAnswer | string {
  if (!/[?&=]|^https?:/.test(text)) {
    const [code = "", pastedState] = text.split("#");
    return pastedState === undefined || pastedState === state ? { code } : OTHER_LOGIN;
  }
  const query = text.includes("?") ? text.slice(text.indexOf("?") + 1) : text;
  const parameters = new URLSearchParams(query.split("#")[0]);
  if (parameters.get("state") !== state) return OTHER_LOGIN;
  return codeFrom(parameters) ?? "The pasted address contains no code. Paste the whole address.";
}

/** Returns the protocol's word for a refusal; undefined for other errors. */
export function refusedWith(error: unknown): string | undefined {
  const { error: word } = (error ?? {}) as { error?: unknown };
  return typeof word === "string" ? word : undefined;
}
