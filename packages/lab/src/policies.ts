import {
  type CompactionSettings,
  type CompactionSettingsInput,
  compactionPresets,
  compactionSettings,
} from "@bonsai-agent/compaction";
import type { CompactionPolicy } from "@bonsai-agent/compaction/host";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";

/** Compaction settings with a name. */
export interface Policy {
  name: string;
  settings: CompactionSettings;
  /** The settings as a user writes them. */
  input: CompactionSettingsInput;
}

function makePolicy(name: string, { policy, ...input }: Readonly<Record<string, unknown>>): Policy {
  const settings = compactionSettings(input, policy as Partial<CompactionPolicy> | undefined);
  return { name, settings, input };
}

/** All presets, and Bonsai's with `economy: auto` and without background summaries. */
export function usualPolicies(): Policy[] {
  return [...Object.keys(compactionPresets), "bonsai+auto", "bonsai+background=false"].map(policyNamed);
}

/**
 * A policy from a file.
 * @param written compaction settings, or a whole settings file @throws BonsaiError `policy_invalid`, `compaction_setting_invalid`
 */
export function policyOf(name: string, written: unknown): Policy {
  const input: unknown = isRecord(written) && "compaction" in written ? written.compaction : written;
  if (!isRecord(input))
    throw new BonsaiError({
      code: "policy_invalid",
      message: `${name} has no compaction settings.`,
      hint: 'Write an object such as {"economy": "auto"}, or a settings file with a "compaction" section.',
    });
  return makePolicy(name, input);
}

/**
 * A preset with changes: `pi`, `bonsai+auto`, `pi+64k`, `bonsai+economy=48000+mask.enabled=false`. A size alone sets the
 * economy.
 * @throws BonsaiError `policy_unknown`, `compaction_setting_invalid`
 */
export function policyNamed(name: string): Policy {
  const [preset = "", ...changes] = name.split("+");
  if (!Object.hasOwn(compactionPresets, preset))
    throw new BonsaiError({
      code: "policy_unknown",
      message: `Unknown policy: ${name}.`,
      hint: `Start with ${Object.keys(compactionPresets).join(", ")} and add changes such as +auto, +64k or +mask.enabled=false. Or name a settings file.`,
    });
  const input: Record<string, unknown> = Object.assign(Object.create(null), { preset });
  for (const change of changes) {
    const [key, value] = keyAndValue(change);
    set(input, key.split("."), value);
  }
  return makePolicy(name, input);
}

function keyAndValue(change: string): [key: string, value: unknown] {
  const size = /^(\d+)k$/.exec(change)?.[1];
  if (size !== undefined) return ["economy", Number(size) * 1_000];
  if (change === "auto" || change === "off") return ["economy", change];
  const at = change.indexOf("=");
  if (at < 0) return [change, true];
  const text = change.slice(at + 1);
  try {
    return [change.slice(0, at), JSON.parse(text)];
  } catch {
    return [change.slice(0, at), text];
  }
}

function set(target: Record<string, unknown>, [key = "", ...rest]: string[], value: unknown): void {
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const inner = Object.hasOwn(target, key) ? target[key] : undefined;
  const object =
    typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>) : Object.create(null);
  target[key] = object;
  set(object, rest, value);
}
