import { BonsaiError } from "@bonsai-agent/messages";
import { compactionPresets, type PresetName } from "./presets.ts";
import { settingsProblem } from "./settings-problem.ts";
import { type CompactionSettings, settingsObject } from "./settings-schema.ts";

/**
 * The settings to work with: the defaults, over them the preset, over it what the user set.
 * @throws BonsaiError `compaction_setting_invalid`, naming the key, what was found and what is allowed.
 */
export function compactionSettings(input: unknown = {}): CompactionSettings {
  const preset = compactionPresets[presetName(input)];
  const parsed = settingsObject.safeParse(merged(preset, input));
  if (parsed.success) return parsed.data;
  throw new BonsaiError({
    code: "compaction_setting_invalid",
    ...settingsProblem({ error: parsed.error, input, schema: settingsObject, section: "compaction" }),
  });
}

function presetName(input: unknown): PresetName {
  const name = (input as { preset?: unknown } | null | undefined)?.preset;
  return typeof name === "string" && Object.hasOwn(compactionPresets, name) ? (name as PresetName) : "bonsai";
}

/** `over` laid on `base`, plain objects key by key; anything else replaces. */
function merged(base: unknown, over: unknown): unknown {
  if (over === undefined) return base;
  if (!isPlainObject(base) || !isPlainObject(over)) return over;
  const keys = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(base[key], over[key])]));
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
