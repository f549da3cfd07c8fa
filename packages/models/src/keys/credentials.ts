import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import type { AuthEntry } from "./auth-file.ts";
import type { LoginCredentials, ProviderLogin } from "./provider-login.ts";

/** Checks a login's credentials before they are stored. @throws BonsaiError `login_unusable`; its message quotes no credentials */
export function checkedCredentials(provider: string, given: unknown): LoginCredentials {
  if (!isRecord(given)) throw unusable(provider, "no credentials");
  const { type: _type, ...fields } = JSON.parse(JSON.stringify(given)) as Record<string, unknown>;
  const { access, refresh = "", expires } = fields;
  if (typeof access !== "string" || access === "")
    throw unusable(provider, "no access token (access must be a non-empty string)");
  if (typeof refresh !== "string") throw unusable(provider, "a refresh token that is not a string");
  if (expires === undefined || expires === null) {
    const { expires: _expires, ...endless } = fields;
    return { ...endless, access, refresh };
  }
  if (typeof expires !== "number")
    throw unusable(provider, "an expiry time (expires) that is not a number of milliseconds since 1970");
  return { ...fields, access, refresh, expires };
}

function unusable(provider: string, what: string): BonsaiError {
  return new BonsaiError({
    code: "login_unusable",
    message: `The login to ${provider} returned ${what}. Nothing was stored.`,
    hint: "The extension must return {access, refresh, expires}. Report this to its author.",
  });
}

/** What an entry of the file holds as a login; undefined for any other. */
export function credentialsOf(entry: AuthEntry | undefined): LoginCredentials | undefined {
  if (entry?.type !== "oauth") return undefined;
  const { type: _type, access, refresh = "", ...others } = entry;
  return typeof access === "string" && typeof refresh === "string" && access !== ""
    ? { ...others, access, refresh }
    : undefined;
}

/** What a login makes of its credentials; undefined where that is no key, or fails: it is asked whenever models are listed. */
export function apiKeyOf(login: ProviderLogin, credentials: LoginCredentials): string | undefined {
  try {
    const key: unknown = login.getApiKey({ ...credentials });
    return typeof key === "string" && key !== "" ? key : undefined;
  } catch {
    return undefined;
  }
}
