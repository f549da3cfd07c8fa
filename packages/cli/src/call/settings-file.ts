import { join } from "node:path";
import { agentSettings } from "@bonsai-agent/agent";
import { isRecord } from "@bonsai-agent/messages";
import { textFile, writeWholeFile } from "@bonsai-agent/models/host";
import { readJsonFile } from "./json-file.ts";

export type SettingPath = readonly string[];
type Section = Readonly<Record<string, unknown>>;

export function settingsFile(home: string): string {
  return join(home, "settings.json");
}

/** The settings in the user's file. @throws BonsaiError `settings_unreadable` */
export function readSettings(home: string): Section {
  const value = readJsonFile(settingsFile(home)) ?? {};
  // The later validation refuses other values.
  return value as Section;
}

export function valueAt(settings: unknown, path: SettingPath): unknown {
  return path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), settings);
}

/** Sets the value at a path; undefined removes it and empty sections. */
export function withValue(settings: Section, path: SettingPath, value: unknown): Section {
  const [key, ...rest] = path;
  if (key === undefined) return settings;
  const below = settings[key];
  const next = rest.length === 0 ? value : withValue(isRecord(below) ? below : {}, rest, value);
  const isGone = next === undefined || (rest.length > 0 && Object.keys(next as Section).length === 0);
  if (!isGone) return { ...settings, [key]: next };
  const { [key]: _gone, ...others } = settings;
  return others;
}

/**
 * Changes one setting in the user's file. Keeps the order of keys, the indentation and a link.
 * @throws BonsaiError for an invalid value or an unreadable file; then nothing is written
 */
export function writeSetting(home: string, path: SettingPath, value: unknown): void {
  const file = settingsFile(home);
  const changed = withValue(readSettings(home), path, value);
  agentSettings(changed);
  writeWholeFile(file, `${JSON.stringify(changed, null, indentation(file))}\n`);
}

function indentation(file: string): string {
  const text = textFile(file) ?? "";
  return /^([ \t]+)"/m.exec(text)?.[1] ?? "  ";
}

/** The values of settings with their names, such as `retry.maxRetries`. */
export function leaves(value: object, above = ""): [name: string, value: unknown][] {
  return Object.entries(value).flatMap(([key, inner]) =>
    isRecord(inner) ? leaves(inner, `${above}${key}.`) : [[`${above}${key}`, inner] as [string, unknown]],
  );
}
