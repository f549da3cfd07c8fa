import { compactionSettings, settingsProblem } from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import { type AgentSettings, settingsObject } from "./settings-schema.ts";

/**
 * The settings to work with: the defaults, over them what the user set; in the `compaction` part its preset between.
 * @throws BonsaiError `setting_invalid` and, for the `compaction` part, `compaction_setting_invalid`: each names the
 *   key, what was found and what is allowed.
 */
export function agentSettings(input: unknown = {}): AgentSettings {
  const parsed = settingsObject.safeParse(withPreset(input));
  if (parsed.success) return parsed.data;
  throw new BonsaiError({
    code: "setting_invalid",
    ...settingsProblem({ error: parsed.error, input, schema: settingsObject }),
  });
}

function withPreset(input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const { compaction } = input as { compaction?: unknown };
  return { ...input, compaction: compactionSettings(compaction) };
}
