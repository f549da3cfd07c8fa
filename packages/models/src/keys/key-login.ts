import type { ProviderLogin } from "./provider-login.ts";

/** A login that is no more than a key of the provider's site. */
export interface KeyLoginOptions {
  /** For people. */
  name: string;
  /** Where the key is made: shown, and opened in the browser. */
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
