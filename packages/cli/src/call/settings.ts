import { dirname, join } from "node:path";
import { type AgentSettings, agentSettings } from "@bonsai-agent/agent";
import type { CompactionSettings } from "@bonsai-agent/compaction";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Call } from "./invocation.ts";
import { readJsonFile } from "./json-file.ts";
import { notifyUntrusted, projectPart, settingPath, USER_ONLY_KEYS } from "./project.ts";
import { isProjectTrusted } from "./trust.ts";

export function callSettings(call: Call): CompactionSettings {
  return agentCallSettings(call).compaction;
}

/** The settings of a call. Ignored settings of an untrusted project are a notice. */
export function agentCallSettings(call: Call): AgentSettings {
  // A deleted working folder has no settings, and most commands work there.
  if (workingFolder(call) !== undefined) notifyUntrusted(call, ["settings"]);
  return readCallSettings(call);
}

/** Merges the user's file, the trusted project's file, the environment and the flags, in this order. */
export function readCallSettings(call: Call): AgentSettings {
  const settings = settingsLayers(call).reduce(
    (base: Section, { section: over }) => mergeSettings(base, over),
    {},
  );
  // --keep also applies to manual compactions, for which a preset can have its own number.
  return agentSettings(settings, call.options.keep === undefined ? undefined : { manualKeep: "same" });
}

/** Settings of one origin, as they were written. */
export interface SettingsLayer {
  origin: "user" | "project" | "environment" | "flag";
  /** The file, the variable or the flag. */
  name: string;
  section: Section;
}

/** The sources of settings; later ones override earlier ones. @throws BonsaiError for an unusable file */
export function settingsLayers(call: Call): readonly SettingsLayer[] {
  const { io, options } = call;
  const home = bonsaiHome(io.env);
  const own = join(home, "settings.json");
  const cwd = workingFolder(call);
  const file = cwd === undefined ? undefined : projectPart({ cwd, home }, "settings");
  const project = file !== undefined && isProjectTrusted(call) ? file : undefined;
  return [
    { origin: "user", name: own, section: fileSettings(own) },
    ...(project === undefined
      ? []
      : [{ origin: "project", name: project, section: projectSettings(project, call) } as const]),
    ...environmentLayers(io.env),
    ...flagLayers(options),
  ];
}

type Section = Readonly<Record<string, unknown>>;

/** Validates the file alone, so that the error can name it. */
function fileSettings(file: string): Section {
  const settings = readJsonFile(file);
  if (settings === undefined) return {};
  try {
    agentSettings(settings);
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    throw new BonsaiError({
      /** A settings file has an invalid value. The message names the file and the value. */
      code: "settings_invalid",
      message: `${file}: ${error.message}`,
      hint: error.hint,
      cause: error,
    });
  }
  return withAbsolutePaths(settings as Section, dirname(file));
}

function projectSettings(file: string, { output }: Call): Section {
  const settings = { ...fileSettings(file) };
  for (const name of USER_ONLY_KEYS) {
    if (settings[name] === undefined) continue;
    delete settings[name];
    output.notify({
      code: "project_setting_ignored",
      message: `${file}: ignored ${name}. Only your own settings can set it.`,
    });
  }
  return settings;
}

/** Lists of paths, which start at the folder of their file. A project's list adds to the user's. */
const pathLists: readonly string[] = ["extensions", "skills", "prompts", "themes"];

function withAbsolutePaths(settings: Section, folder: string): Section {
  const lists = Object.entries(settings).filter(([key]) => pathLists.includes(key));
  const absolute = lists.map(([key, paths]) => [
    key,
    (paths as readonly string[]).map((path) => settingPath(path, folder)),
  ]);
  return { ...settings, ...Object.fromEntries(absolute) };
}

function environmentLayers(env: Readonly<Record<string, string | undefined>>): readonly SettingsLayer[] {
  const switches: readonly (readonly [name: string, section: Section])[] = [
    ["BONSAI_DISABLE_AUTOCOMPACT", { compaction: { enabled: false } }],
    ["BONSAI_DISABLE_MASK", { compaction: { mask: { enabled: false } } }],
  ];
  return switches
    .filter(([name]) => isOn(env[name]))
    .map(([name, section]) => ({ origin: "environment", name, section }));
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== "" && value !== "0";
}

function flagLayers({
  preset,
  keep,
  thinking,
  tools,
  models,
  useTheme,
  contextFiles,
}: Section): readonly SettingsLayer[] {
  const flags: readonly (readonly [name: string, value: unknown, section: () => Section])[] = [
    ["--preset", preset, () => ({ compaction: { preset } })],
    // For every model, after the settings of single models.
    [
      "--keep",
      keep,
      () => ({ compaction: { keepRecentTokens: keep, models: { "**": { keepRecentTokens: keep } } } }),
    ],
    ["--thinking", thinking, () => ({ thinking })],
    ["--tools", tools, () => ({ tools: toolNames(tools) })],
    ["--no-context-files", contextFiles, () => ({ instructionFiles: [] })],
    ["--use-theme", useTheme, () => ({ theme: useTheme })],
    ["--models", models, () => ({ favoriteModels: names("--models", models) })],
  ];
  return flags
    .filter(([, value]) => value !== undefined)
    .map(([name, value, section]) => ({ origin: "flag", name, section: validFlag(name, value, section()) }));
}

function validFlag(name: string, value: unknown, section: Section): Section {
  try {
    agentSettings(section);
    return section;
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    throw new BonsaiError({
      code: "wrong_usage",
      message: `${name} ${JSON.stringify(value)}: ${error.message}`,
      hint: `Correct ${name}, or omit it.`,
      cause: error,
    });
  }
}

/** `--tools none` and `--no-tools`, which is false, name no tool. */
function toolNames(tools: unknown): readonly string[] {
  return typeof tools === "string" && tools.trim() !== "none" ? names("--tools", tools) : [];
}

/** The tools of `--exclude-tools a,b`. @throws BonsaiError `wrong_usage` */
export function excludedTools({ excludeTools }: Section): readonly string[] {
  return excludeTools === undefined ? [] : names("--exclude-tools", excludeTools);
}

const listExamples = {
  "--tools": "Give tool names, such as `--tools read,grep`, or use `--tools none`.",
  "--models": "Give model names, such as `--models anthropic/claude-opus-5-5,box/coder:high`.",
  "--exclude-tools": "Give tool names, such as `--exclude-tools bash,write`.",
};

function names(flag: keyof typeof listExamples, list: unknown): readonly string[] {
  const found = String(list)
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (found.length > 0) return found;
  throw new BonsaiError({
    code: "wrong_usage",
    message: `${flag} ${JSON.stringify(list)} contains no name.`,
    hint: listExamples[flag],
  });
}

function mergeSettings(base: Section, over: Section): Section {
  const keys = Object.entries(over).map(([key, above]): [string, unknown] => {
    const below = base[key];
    if (pathLists.includes(key) && Array.isArray(below)) return [key, [...below, ...(above as unknown[])]];
    return [key, isRecord(below) && isRecord(above) ? mergeSettings(below, above) : above];
  });
  return { ...base, ...Object.fromEntries(keys) };
}

function workingFolder({ io }: Call): string | undefined {
  try {
    return io.cwd;
  } catch {
    return undefined;
  }
}
