import { thinkingLevels } from "@bonsai-agent/models";
import type { SettingPath } from "./settings-file.ts";

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
  /** What it does, for people. */
  meaning: string;
  value: SettingKind;
  /** From when on a change holds: at once, in sessions that are opened from then on, or from the next start on. */
  holds: "now" | "session" | "start";
}

const setting = (
  path: string,
  value: SettingKind,
  meaning: string,
  holds: CommonSetting["holds"] = "now",
): CommonSetting => ({ path: path.split("."), value, meaning, holds });
const onOff: SettingKind = { kind: "switch" };
const number: SettingKind = { kind: "number" };
const oneOf = (...choices: string[]): SettingKind => ({ kind: "choice", choices });

/** The settings of /settings, in its order. */
export const commonSettings: readonly CommonSetting[] = [
  setting(
    "model",
    { kind: "model" },
    "The model to begin with. Without it, the first that can be used.",
    "start",
  ),
  setting(
    "smallModel",
    { kind: "model" },
    "A cheap model for titles and other small work. Without it, they are done without a request.",
    "session",
  ),
  setting("thinking", oneOf(...thinkingLevels), "How much the model thinks before it answers."),
  setting("titles", onOff, "Sessions are named after the first answer.", "session"),
  setting("theme", { kind: "theme" }, "Colours: auto is dark or light as the terminal's background is."),
  setting(
    "footer.tokens",
    onOff,
    "The footer shows the tokens that were sent and got, and the share that came from the cache.",
  ),
  setting("compaction.enabled", onOff, "The context is compacted by itself when it grows full."),
  setting("compaction.onOverflow", onOff, "A request that was too large is compacted and sent again."),
  setting(
    "compaction.confirm",
    oneOf("never", "manual", "always"),
    "When a compaction is shown before it happens: manual is /compact alone, always the automatic ones too.",
  ),
  setting(
    "compaction.preset",
    oneOf("bonsai", "pi", "klaude", "tunacode", "opencode"),
    "Whose policy the other compaction settings start from.",
  ),
  setting(
    "compaction.threshold.rule",
    oneOf("reserve", "percent", "outputLimit", "reservePlusKeep", "effectiveWindow"),
    "When the context counts as full: by a reserve that stays free, by a share of the window, or by the output limit.",
  ),
  setting(
    "compaction.threshold.reserveTokens",
    number,
    "Tokens that stay free for the answer; fewer on small windows. For the rules with a reserve.",
  ),
  setting(
    "compaction.threshold.percent",
    number,
    "Share of the window, 1 to 100, from which on the context counts as full. For the rule percent.",
  ),
  setting(
    "compaction.economy",
    { kind: "number", words: ["off", "auto"] },
    "A size to work in, below the threshold, for a long context is paid for at every request: auto finds the size that costs the least by the model's prices and the session's pace, a number of tokens is taken as it is.",
  ),
  setting(
    "compaction.keepRecentTokens",
    number,
    "Tokens of the latest messages that stay as they are; fewer on small windows.",
  ),
  setting("compaction.mask.enabled", onOff, "Old tool results are cleared first, in the model's view only."),
  setting(
    "compaction.mask.protectTokens",
    number,
    "Tokens of the newest tool results that are never cleared.",
  ),
  setting(
    "compaction.words.maxTokens",
    number,
    "Tokens of your own words that stand behind a summary; never more than a tenth of the window. 0: none.",
  ),
  setting(
    "compaction.terms.maxTokens",
    number,
    "Tokens of the index of terms behind a summary, with the entries that hold them. 0: none.",
  ),
  setting(
    "compaction.lossCheck",
    oneOf("off", "report", "putBack"),
    "Whether a summary is checked for what it left out: report counts it, putBack also puts it behind the summary.",
  ),
  setting(
    "compaction.putBackTokens",
    number,
    "Tokens that may be put back behind a summary that left something out.",
  ),
  setting(
    "compaction.summarizer.fallback",
    oneOf("always", "overflow", "never"),
    "When the digest, which asks no model, stands in for a summary that failed.",
  ),
  setting(
    "compaction.estimator",
    oneOf("calibrated", "chars4", "chars4Floor"),
    "How tokens are estimated where no provider has counted them.",
  ),
];

export function settingName({ path }: CommonSetting): string {
  return path.join(".");
}
