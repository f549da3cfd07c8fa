import { environmentKeys } from "@bonsai-agent/agent/host";
import { SecretFilter } from "@bonsai-agent/messages";
import { knownSecrets } from "@bonsai-agent/models/host";
import { bonsaiHome, type Session } from "@bonsai-agent/session";
import type { Invocation } from "./invocation.ts";

/**
 * Redacts a command's output, unless `--no-redact`.
 * @param session a value is redacted everywhere if one of its entries reveals it
 */
export function printedSecrets(
  { io: { env }, options }: Pick<Invocation, "io" | "options">,
  session?: Session,
): SecretFilter {
  const isOn = options.redact !== false;
  const secrets = new SecretFilter(isOn ? knownSecretValues(env) : [], isOn);
  if (isOn && session !== undefined) secrets.learn(entriesOf(session));
  return secrets;
}

/** The stored keys and those of the environment. */
export function knownSecretValues(env: Invocation["io"]["env"]): string[] {
  const known = [...knownSecrets(bonsaiHome(env), env), ...environmentKeys(env)];
  // A short word without digits is no key.
  return known.map(({ value }) => value).filter((value) => /\d/.test(value) || value.length >= 16);
}

/** The entries of a session, one at a time. */
export function* entriesOf(session: Session): Generator<unknown> {
  for (const { entry } of session.scan()) yield entry;
}
