import { answerOf } from "./callback.ts";
import type { LoginCallbacks } from "./provider-login.ts";

/**
 * The code that the user pastes, out of the address that the browser ended at, or as it is (`code`, `code#state`). What
 * belongs to another login is asked for again. Never settles where the user gives nothing.
 * @throws BonsaiError `login_denied`, `login_refused` where the address says so
 */
export async function pastedCode(
  { onManualCodeInput, onProgress }: Pick<LoginCallbacks, "onManualCodeInput" | "onProgress">,
  state: string,
  signal: AbortSignal,
): Promise<string> {
  while (!signal.aborted) {
    const text = (await onManualCodeInput()).trim();
    if (text === "") continue;
    const answer = readPasted(text, state);
    if (typeof answer === "object") {
      if ("error" in answer) throw answer.error;
      return answer.code;
    }
    onProgress(answer);
  }
  return new Promise(() => {});
}

/** What was pasted, or why it is of no use. */
function readPasted(text: string, state: string): { code: string } | { error: unknown } | string {
  if (!/[?&=]|^https?:/.test(text)) {
    const [code = "", given] = text.split("#");
    return given === undefined || given === state ? { code } : OTHER;
  }
  const query = text.includes("?") ? text.slice(text.indexOf("?") + 1) : text;
  const parameters = new URLSearchParams(query.split("#")[0]);
  if (parameters.get("state") !== state) return OTHER;
  return answerOf(parameters) ?? "The pasted address contains no code. Paste the whole address.";
}

const OTHER = "The pasted code belongs to another login. Log in at the address above.";
