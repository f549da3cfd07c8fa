import { type Catalogue, type KeyFile, loadCatalogue } from "@bonsai-agent/models";
import { knownSecrets } from "@bonsai-agent/models/host";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Call } from "./invocation.ts";
import type { CliIo } from "./io.ts";

/** The catalogue of a command without a model. An unusable `models.json` is a notice. */
export function knownCatalogue({ io: { env }, output }: Pick<Call, "io" | "output">): Promise<Catalogue> {
  return loadCatalogue({
    home: bonsaiHome(env),
    env,
    onUnusable: ({ code, message }) =>
      output.notify({ code, message: `${message} Bonsai ignores the models and API keys of this file.` }),
  });
}

export interface SecretPlaces {
  home: string;
  env: CliIo["env"];
  catalogue: Pick<Catalogue, "providers">;
  /** Default: the stored keys. */
  keys?: Partial<Pick<KeyFile, "secrets">>;
}

/** The stored keys and those of the environment. */
export function secretsOf({ home, env, catalogue, keys }: SecretPlaces): string[] {
  const inEnvironment = catalogue.providers.flatMap(({ apiKeyEnv }) => env[apiKeyEnv ?? ""] ?? []);
  const stored = keys?.secrets?.() ?? knownSecrets(home);
  return [...stored.map(({ value }) => value), ...inEnvironment];
}
