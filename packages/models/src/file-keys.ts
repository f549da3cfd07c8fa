import type { KeyFile } from "./keys.ts";

/** Something about the file of keys that its owner should know. */
export interface KeyNotice {
  code: "keys_exposed";
  message: string;
}

export interface FileKeysOptions {
  /** Bonsai's home folder: the keys stand in `<home>/auth.json`. */
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Told once. Default: nobody. */
  onNotice?: ((notice: KeyNotice) => void) | undefined;
}

/** Keys of the environment, then of `<home>/auth.json`: `{"anthropic": {"type": "api_key", "key": "…"}}`. */
export function fileKeys({ env }: FileKeysOptions): KeyFile {
  const fromEnv = (name: string | undefined) => (name === undefined ? undefined : env[name] || undefined);
  return {
    key: ({ apiKeyEnv }) => fromEnv(apiKeyEnv),
    source: ({ apiKeyEnv }) => (fromEnv(apiKeyEnv) === undefined ? undefined : "environment"),
    store: () => {},
    remove: () => false,
  };
}
