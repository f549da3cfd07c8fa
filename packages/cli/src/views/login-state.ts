import { type CatalogueModel, isReachable, type KeyFile, type ProviderConfig } from "@bonsai-agent/models";
import { shownAddress } from "@bonsai-agent/models/host";
import { moment } from "./numbers.ts";

/** True if a provider takes a key or a login. */
export function takesKey({ apiKeyEnv, login }: ProviderConfig): boolean {
  return apiKeyEnv !== undefined || login !== undefined;
}

/** The key or login in use, in words; undefined without one. */
export function loginState(
  config: ProviderConfig,
  { keys, nowMs }: { keys: KeyFile; nowMs: number },
): string | undefined {
  const origin = keys.source(config);
  switch (origin) {
    case undefined:
      return undefined;
    case "environment":
      return `key from ${config.apiKeyEnv}`;
    case "file":
      return "key stored";
    case "models":
      return "key from models.json";
    case "lent":
      return "key from an extension";
    case "login": {
      const expires = keys.logins.state(config.provider)?.expires;
      if (expires === undefined) return "logged in";
      return expires > nowMs
        ? `logged in until ${moment(expires, nowMs)}, then refreshed`
        : "logged in, refreshed at the next use";
    }
  }
}

/** Why a model is not available, with the remedy. @param login the command that logs in */
export function missingText(model: CatalogueModel, keys: KeyFile, login = "/login"): string {
  const { provider, apiKeyEnv, baseUrl } = model;
  if (model.missing !== undefined) return model.missing.replace(/\.$/, "");
  if (isReachable(model, keys)) return `no server at ${shownAddress(baseUrl)} offers it`;
  return apiKeyEnv === undefined
    ? `no login. Run ${login} ${provider}`
    : `no key. Set ${apiKeyEnv} or run ${login} ${provider}`;
}
