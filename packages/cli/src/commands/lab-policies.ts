import { statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { type Policy, policyNamed, policyOf, usualPolicies } from "@bonsai-agent/lab";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Invocation } from "../call/invocation.ts";
import { readJsonFile } from "../call/json-file.ts";
import { callSettings } from "../call/settings.ts";

/** The user's own settings come first, then the presets, unless some are named. */
export function policiesOf(invocation: Invocation): Policy[] {
  const named = invocation.options.policy as string[] | undefined;
  if (named !== undefined) return named.map((name) => policyFor(name, invocation.io.cwd));
  return [{ name: "yours", settings: callSettings(invocation), input: {} }, ...usualPolicies()];
}

/** A file of settings, where there is one of that name, else a preset with its changes. */
function policyFor(name: string, cwd: string): Policy {
  const file = resolve(cwd, name);
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  if (!isFile && !name.endsWith(".json")) return policyNamed(name);
  if (!isFile)
    throw new BonsaiError({
      code: "policy_file_unreadable",
      message: `The file ${file} does not exist.`,
      hint: "Name a file with compaction settings, or a preset with changes like pi+64k.",
    });
  try {
    return policyOf(basename(name), readJsonFile(file));
  } catch (error) {
    if (!BonsaiError.is(error) || error.message.includes(file)) throw error;
    throw new BonsaiError({
      code: error.code,
      message: `${file}: ${error.message}`,
      hint: error.hint,
      cause: error,
    });
  }
}
