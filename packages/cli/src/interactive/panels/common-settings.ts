import { agentSettingsSchema } from "@bonsai-agent/agent";
import { compactionPresets } from "@bonsai-agent/compaction";
import { thinkingLevels } from "@bonsai-agent/models";
import type { SettingPath } from "../../call/settings-file.ts";

/** How a value is chosen or typed. */
type SettingKind =
  | { kind: "switch" }
  | { kind: "choice"; choices: readonly string[] }
  /** `words`: what may be typed in place of a number. */
  | { kind: "number"; words?: readonly string[] }
  | { kind: "model" }
  | { kind: "theme" };

/** A setting that can be changed without an editor. */
export interface CommonSetting {
  path: SettingPath;
  /** The schema's description. */
  meaning: string;
  value: SettingKind;
  /** From when on a change holds: at once, in sessions that are opened from then on, or from the next start on. */
  holds: "now" | "session" | "start";
}

interface JsonSchema {
  description?: string;
  properties?: Readonly<Record<string, JsonSchema>>;
}

/** Made on first use: it takes some milliseconds, which the start of the program must not wait for. */
let fields: JsonSchema | undefined;

function meaningOf(path: SettingPath): string {
  fields ??= agentSettingsSchema.toJSONSchema({ io: "input" }) as JsonSchema;
  const field = path.reduce<JsonSchema | undefined>((schema, key) => schema?.properties?.[key], fields);
  return field?.description ?? "";
}

const setting = (path: string, value: SettingKind, holds: CommonSetting["holds"] = "now"): CommonSetting => {
  const keys = path.split(".");
  return {
    ...{ path: keys, value, holds },
    get meaning() {
      return meaningOf(keys);
    },
  };
};
const onOff: SettingKind = { kind: "switch" };
const number: SettingKind = { kind: "number" };
const oneOf = (...choices: string[]): SettingKind => ({ kind: "choice", choices });

/** The settings of /settings, in its order. */
export const commonSettings: readonly CommonSetting[] = [
  setting("model", { kind: "model" }, "start"),
  setting("smallModel", { kind: "model" }, "session"),
  setting("thinking", oneOf(...thinkingLevels)),
  setting("titles", onOff, "session"),
  setting("theme", { kind: "theme" }),
  setting("compaction.enabled", onOff),
  setting("compaction.onOverflow", onOff),
  setting("compaction.confirm", oneOf("never", "manual", "always")),
  setting("compaction.preset", oneOf(...Object.keys(compactionPresets))),
  setting(
    "compaction.threshold.rule",
    oneOf("reserve", "percent", "outputLimit", "reservePlusKeep", "effectiveWindow"),
  ),
  setting("compaction.threshold.reserveTokens", number),
  setting("compaction.threshold.percent", number),
  setting("compaction.economy", { kind: "number", words: ["off", "auto"] }),
  setting("compaction.keepRecentTokens", number),
  setting("compaction.mask.enabled", onOff),
  setting("compaction.mask.protectTokens", number),
  setting("compaction.words.maxTokens", number),
  setting("compaction.terms.maxTokens", number),
  setting("compaction.lossCheck", oneOf("off", "report", "putBack")),
  setting("compaction.summarizer.fallback", oneOf("always", "overflow", "never")),
];

export function settingName({ path }: CommonSetting): string {
  return path.join(".");
}
