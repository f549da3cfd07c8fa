import { environmentKeys } from "@bonsai-agent/agent/host";
import { SecretFilter } from "@bonsai-agent/messages";
import { knownSecrets } from "@bonsai-agent/models";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "./invocation.ts";

/** Redacts what a command prints; with `--no-redact` it returns everything as it is. */
export function printedSecrets({ io: { env }, options }: Pick<Invocation, "io" | "options">): SecretFilter {
  const isOn = options.redact !== false;
  const known = isOn ? [...knownSecrets(bonsaiHome(env), env), ...environmentKeys(env)] : [];
  // A word is no key.
  const values = known.map(({ value }) => value).filter((value) => /\d/.test(value) || value.length >= 16);
  return new SecretFilter(values, isOn);
}
