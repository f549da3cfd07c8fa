import { BonsaiError } from "@bonsai-agent/messages";
import { z } from "zod";
import type { AuthEntry } from "./auth-file.ts";

/** The result of a login. `auth.json` stores it with all its fields. */
export interface LoginCredentials {
  /** The access token. */
  access: string;
  /** The token for another `access`; empty if there is none. */
  refresh: string;
  /** The end of `access` in milliseconds since the epoch. Default: never. */
  expires?: number | undefined;
  [field: string]: unknown;
}

/** The questions and messages of a login. The names are pi's. */
export interface LoginCallbacks {
  /** Shows an address and opens it in the browser. An address other than http and https is only shown. */
  onAuth(info: { url: string; instructions?: string | undefined }): void;
  /** Shows a code, and the address at which the user enters it on any device. */
  onDeviceCode(info: {
    userCode: string;
    verificationUri: string;
    /** Time between two polls. */
    intervalSeconds?: number | undefined;
    expiresInSeconds?: number | undefined;
  }): void;
  /** Asks for a text. Rejects if the user cancels the login. */
  onPrompt(prompt: {
    message: string;
    placeholder?: string | undefined;
    /** Default false. */
    allowEmpty?: boolean | undefined;
    /** Hides the typed text. Default false. */
    isSecret?: boolean | undefined;
  }): Promise<string>;
  /** Shows the current step. */
  onProgress(message: string): void;
  /** Asks for the code, or the address with it, in case the browser cannot come back. Runs beside other waits. */
  onManualCodeInput(): Promise<string>;
  /** Returns the id of the user's choice, or undefined. */
  onSelect(prompt: {
    message: string;
    options: readonly { id: string; label: string; description?: string | undefined }[];
  }): Promise<string | undefined>;
  /** Aborts when the user cancels the login. */
  signal: AbortSignal;
}

/** A way to log in at a provider, in the shape of pi's `oauth`. */
export interface ProviderLogin {
  /** Shown to the user. */
  name: string;
  /** Runs the login. Throws if it fails. */
  login(callbacks: LoginCallbacks): Promise<LoginCredentials>;
  /**
   * Refreshes the credentials. Only one process calls it at a time. An error with `invalid_grant` ends the login. After
   * any other error the login stays, and the request is retried.
   */
  refreshToken(credentials: LoginCredentials, signal: AbortSignal): Promise<LoginCredentials>;
  /** Returns the API key. */
  getApiKey(credentials: LoginCredentials): string;
  /** Revokes the credentials at the provider when the user logs out. */
  revoke?(credentials: LoginCredentials, signal: AbortSignal): Promise<void>;
}

/** Options of `freshKey`. */
export interface FreshKeyOptions {
  /** A key that was refused just now. */
  refused?: string | undefined;
  signal?: AbortSignal | undefined;
}

const NO_ACCESS = "no access token (access must be a non-empty string)";
const credentialsSchema = z.looseObject(
  {
    access: z.string(NO_ACCESS).min(1, NO_ACCESS),
    refresh: z.string("a refresh token that is not a string").default(""),
    expires: z
      .number("an expiry time (expires) that is not a number of milliseconds since 1970")
      .nullish()
      .transform((expires) => expires ?? undefined),
  },
  "no credentials",
);

/** Validates the result of a login. @throws BonsaiError `login_unusable`; its message quotes no credentials */
export function checkedCredentials(provider: string, given: unknown): LoginCredentials {
  const { data, error } = credentialsSchema.safeParse(JSON.parse(JSON.stringify(given) ?? "null"));
  if (data === undefined) throw unusable(provider, error.issues[0]?.message ?? "no credentials");
  const { type: _type, ...credentials } = data;
  return credentials;
}

function unusable(provider: string, what: string): BonsaiError {
  return new BonsaiError({
    code: "login_unusable",
    message: `The login to ${provider} returned ${what}. Nothing was stored.`,
    hint: "The extension must return {access, refresh, expires}. Report this to its author.",
  });
}

/** Returns the login in an entry of `auth.json`; undefined for other entries. */
export function credentialsOf(entry: AuthEntry | undefined): LoginCredentials | undefined {
  if (entry?.type !== "oauth") return undefined;
  const { type: _type, access, refresh = "", ...others } = entry;
  return typeof access === "string" && typeof refresh === "string" && access !== ""
    ? { ...others, access, refresh }
    : undefined;
}

/** Returns the key of a login; undefined if `getApiKey` fails or returns no key. */
export function apiKeyOf(login: ProviderLogin, credentials: LoginCredentials): string | undefined {
  try {
    const key: unknown = login.getApiKey({ ...credentials });
    return typeof key === "string" && key !== "" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Options of a login with a key from the provider's site. */
export interface KeyLoginOptions {
  /** Shown to the user. */
  name: string;
  /** The page that creates keys. It is shown and opened in the browser. */
  url?: string | undefined;
  /** Default: "Paste the API key." */
  message?: string | undefined;
  /** Throws if the key is invalid. Default: accepts every key. */
  check?: ((key: string, signal: AbortSignal) => Promise<void> | void) | undefined;
}

/** A login with a pasted key. It never expires. */
export function keyLogin({
  name,
  url,
  message = "Paste the API key.",
  check,
}: KeyLoginOptions): ProviderLogin {
  return {
    name,
    async login({ onAuth, onPrompt, onProgress, signal }) {
      if (url !== undefined) onAuth({ url, instructions: "Create a key there and paste it here." });
      const key = (await onPrompt({ message, isSecret: true })).trim();
      if (check !== undefined) onProgress("Checking the key…");
      await check?.(key, signal);
      return { access: key, refresh: "" };
    },
    refreshToken: async (credentials) => credentials,
    getApiKey: ({ access }) => access,
  };
}
