import type { ProviderLogin } from "./provider-login.ts";

/** A login that is no more than a key of the provider's site. */
export interface KeyLoginOptions {
  /** For people. */
  name: string;
  /** Where the key is made: shown, and opened in the browser. */
  url?: string | undefined;
  /** Default: "Paste the key." */
  message?: string | undefined;
  /** Throws where the key is not good. Default: any is. */
  check?: ((key: string, signal: AbortSignal) => Promise<void> | void) | undefined;
}

/** A login by the paste of a key, which does not end. */
export function keyLogin({ name, url, message = "Paste the key.", check }: KeyLoginOptions): ProviderLogin {
  return {
    name,
    async login({ onAuth, onPrompt, onProgress, signal }) {
      if (url !== undefined) onAuth({ url, instructions: "Make a key there, and paste it here." });
      const key = (await onPrompt({ message, isSecret: true })).trim();
      if (check !== undefined) onProgress("The key is tried.");
      await check?.(key, signal);
      return { access: key, refresh: "" };
    },
    refreshToken: async (credentials) => credentials,
    getApiKey: ({ access }) => access,
  };
}
