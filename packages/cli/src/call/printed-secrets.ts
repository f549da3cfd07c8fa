import { environmentKeys } from "@bonsai-agent/agent/host";
import { SecretFilter } from "@bonsai-agent/messages";
import { knownSecrets } from "@bonsai-agent/models/host";
import { bonsaiHome, type Session } from "@bonsai-agent/session";
import type { Invocation } from "./invocation.ts";

/**
 * Redacts what a command prints; with `--no-redact` it returns everything as it is.
 * @param session whose entries are printed: a value is redacted wherever it occurs if any entry gives it away
 */
export function printedSecrets(
  { io: { env }, options }: Pick<Invocation, "io" | "options">,
  session?: Session,
): SecretFilter {
  const isOn = options.redact !== false;
  const known = isOn ? [...knownSecrets(bonsaiHome(env), env), ...environmentKeys(env)] : [];
  // A word is no key.
  const values = known.map(({ value }) => value).filter((value) => /\d/.test(value) || value.length >= 16);
  const secrets = new SecretFilter(values, isOn);
  if (isOn && session !== undefined) secrets.learn(entriesOf(session));
  return secrets;
}

function* entriesOf(session: Session): Generator<unknown> {
  for (const { entry } of session.scan()) yield entry;
}
