import type { SettingsLayer } from "../../../settings.ts";
import { type CommonSetting, settingName } from "./common-settings.ts";
import { readSettings, validSettings, valueAt, withValue } from "./settings-file.ts";

/** What holds of a setting here, and who says so. */
export interface SettingSource {
  /** What holds here. */
  value: unknown;
  /** What would hold without a word of the user's, or of those who count more. */
  usual: unknown;
  /** What the user's own file says, or leaves to the default. */
  own: unknown;
  isOwn: boolean;
  /** Who says otherwise than the user's own file: a project's file, a variable, a flag. */
  over: SettingsLayer | undefined;
  /** The preset, where it says otherwise than Bonsai does. */
  preset: string | undefined;
}

export interface SettingSourceOptions {
  home: string;
  /** The settings that hold here, and where they come from. */
  settings: unknown;
  layers: readonly SettingsLayer[];
}

/** @throws BonsaiError for the user's file, where it cannot be used */
export function settingSource(
  { path }: CommonSetting,
  { home, settings, layers }: SettingSourceOptions,
): SettingSource {
  const file = readSettings(home);
  const usual = valueAt(validSettings(withValue(file, path, undefined)), path);
  const isOwn = valueAt(file, path) !== undefined;
  const top = layers.findLast(({ section }) => valueAt(section, path) !== undefined);
  const over = top?.origin === "user" ? undefined : top;
  const value = valueAt(settings, path);
  const preset = valueAt(settings, ["compaction", "preset"]);
  const isOfPreset =
    top === undefined && path[0] === "compaction" && value !== valueAt(validSettings({}), path);
  return {
    value,
    usual,
    own: isOwn ? valueAt(file, path) : usual,
    isOwn,
    over,
    preset: isOfPreset && typeof preset === "string" ? preset : undefined,
  };
}

/** The origin in a word, for the row. */
export function sourceWord({ origin, name }: SettingsLayer): string {
  return origin === "project" ? "this project" : name;
}

/** From when on a change holds, as a sentence. */
export function holdsWords(setting: CommonSetting): string {
  if (setting.holds === "now") return "Holds at once.";
  if (setting.holds === "session") return "Holds from the next session on: /new, /resume.";
  const also = settingName(setting) === "model" ? "; /model changes this session's" : "";
  return `Holds from the next start on${also}.`;
}

/** As it is shown in the list. */
export function shownValue(value: unknown): string {
  if (value === undefined) return "none";
  if (typeof value === "boolean") return value ? "on" : "off";
  return typeof value === "string" ? value : JSON.stringify(value);
}
