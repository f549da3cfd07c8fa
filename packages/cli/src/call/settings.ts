import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { type AgentSettings, agentSettings } from "@bonsai-agent/agent";
import type { CompactionSettings } from "@bonsai-agent/compaction";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "./invocation.ts";
import { readJsonFile } from "./json-file.ts";
import type { Output } from "./output.ts";
import { absolutePath } from "./paths.ts";
import { isProjectTrusted } from "./trust.ts";

/** What the settings of a call depend on, and who is notified of what is left aside. */
export type SettingsCall = Pick<Invocation, "io" | "options"> & { readonly output: Pick<Output, "notify"> };

/** The `compaction` settings of a call. */
export function callSettings(call: SettingsCall): CompactionSettings {
  return agentCallSettings(call).compaction;
}

/** The settings of a call: the user's file, the trusted project's over it, the environment, the flags. */
export function agentCallSettings(call: SettingsCall): AgentSettings {
  const layers = settingsLayers(call);
  const { options } = call;
  try {
    const settings = layers.reduce((base: Section, { section: over }) => layered(base, over), {});
    // A number of tokens to keep overrides what the preset keeps after a manual compaction.
    return agentSettings(settings, options.keep === undefined ? undefined : { manualKeep: "same" });
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    // What stands below the flags is valid.
    const flag = wrongFlag(error.message, options);
    throw new BonsaiError({
      code: "wrong_usage",
      message: `${flag} ${JSON.stringify(options[flag.slice(2)])}: ${error.message}`,
      hint: `Correct ${flag}, or omit it.`,
      cause: error,
    });
  }
}

/** Settings of one origin, as they were written. */
export interface SettingsLayer {
  origin: "user" | "project" | "environment" | "flag";
  /** The file, the variable or the flag. */
  name: string;
  section: Section;
}

/** Where the settings of a call come from, each over those before. @throws BonsaiError for a file that cannot be used */
export function settingsLayers(call: SettingsCall): readonly SettingsLayer[] {
  const { io, options } = call;
  const home = bonsaiHome(io.env);
  const own = join(home, "settings.json");
  const project = projectSettingsFile(call, home);
  return [
    { origin: "user", name: own, section: fileSettings(own) },
    ...(project === undefined
      ? []
      : [{ origin: "project", name: project, section: projectSettings(project, call) } as const]),
    ...environmentLayers(io.env),
    ...flagLayers(options),
  ];
}

function wrongFlag(problem: string, options: Section): string {
  const named = /^The setting (thinking|tools)\b/.exec(problem)?.[1];
  if (named !== undefined && options[named] !== undefined) return `--${named}`;
  return options.preset === undefined ? "--keep" : "--preset";
}

type Section = Readonly<Record<string, unknown>>;

/** Checked alone, so that the error of a wrong value names its file. */
function fileSettings(file: string): Section {
  const settings = readJsonFile(file);
  if (settings === undefined) return {};
  try {
    agentSettings(settings);
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    throw new BonsaiError({
      code: "settings_invalid",
      message: `${file}: ${error.message}`,
      hint: error.hint,
      cause: error,
    });
  }
  return withWholePaths(settings as Section, dirname(file));
}

/** A project does not say what may be touched beyond it, nor which program the user writes with. */
export const USERS_OWN: readonly string[] = ["paths", "editor"];

function projectSettings(file: string, { output }: SettingsCall): Section {
  const settings = { ...fileSettings(file) };
  for (const name of USERS_OWN) {
    if (settings[name] === undefined) continue;
    delete settings[name];
    output.notify({
      code: "project_setting_ignored",
      message: `${file}: ignored ${name}. Only your own settings can set it.`,
    });
  }
  return settings;
}

/** What a project has beside the user's: lists of paths, each of which starts at the folder of its file. */
const pathLists: readonly string[] = ["extensions", "skills", "prompts", "themes"];

function withWholePaths(settings: Section, folder: string): Section {
  const lists = Object.entries(settings).filter(([key]) => pathLists.includes(key));
  const whole = lists.map(([key, paths]) => [
    key,
    (paths as readonly string[]).map((path) => wholePath(path, folder)),
  ]);
  return { ...settings, ...Object.fromEntries(whole) };
}

/** A path of such a list, from the folder of its file. */
export function wholePath(path: string, folder: string): string {
  // Not a path; whoever looks for it has the remedy.
  if (path.startsWith("npm:")) return path;
  return absolutePath(path, folder);
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
    ["--keep", keep, () => ({ compaction: { keepRecentTokens: keep } })],
    ["--thinking", thinking, () => ({ thinking })],
    ["--tools", tools, () => ({ tools: toolNames(tools) })],
    ["--no-context-files", contextFiles, () => ({ instructionFiles: [] })],
    ["--use-theme", useTheme, () => ({ theme: useTheme })],
    ["--models", models, () => ({ favoriteModels: names("--models", models) })],
  ];
  return flags
    .filter(([, value]) => value !== undefined)
    .map(([name, , section]) => ({ origin: "flag", name, section: section() }));
}

/** `--tools a,b`, or `--tools none`; `--no-tools` is false. */
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

/** `over` laid on `base`, key by key where both are objects; what a project lists of paths stands behind the user's. */
function layered(base: Section, over: Section): Section {
  const keys = Object.entries(over).map(([key, above]): [string, unknown] => {
    const below = base[key];
    if (pathLists.includes(key) && Array.isArray(below)) return [key, [...below, ...(above as unknown[])]];
    return [key, isSection(below) && isSection(above) ? layered(below, above) : above];
  });
  return { ...base, ...Object.fromEntries(keys) };
}

function isSection(value: unknown): value is Section {
  return isRecord(value);
}

/**
 * The settings file of the project in the working folder; undefined where there is none, and where its folder was
 * never trusted, which is a notice.
 */
function projectSettingsFile({ io, options, output }: SettingsCall, home: string): string | undefined {
  const folder = workingFolder(io);
  if (folder === undefined) return undefined;
  const file = join(projectFolder(folder), "settings.json");
  if (!existsSync(file) || !isProjectOf(folder, home)) return undefined;
  if (isProjectTrusted({ io, options }, home)) return file;
  output.notify({
    code: "project_not_trusted",
    message: `Ignored ${file}: this project is not trusted. Run \`bonsai trust\` to trust it.`,
  });
  return undefined;
}

/** Where a project keeps its own settings and extensions. */
export function projectFolder(cwd: string): string {
  return join(cwd, ".bonsai");
}

/** In the user's home folder, the project's things would be the user's own. */
export function isProjectOf(cwd: string, home: string): boolean {
  const own = projectFolder(cwd);
  return existsSync(own) && !isSame(own, home) && !isSame(cwd, homedir());
}

function isSame(folder: string, other: string): boolean {
  return existsSync(other) && realpathSync(folder) === realpathSync(other);
}

/** Much works in a folder that is gone; it has no settings. */
function workingFolder(io: SettingsCall["io"]): string | undefined {
  try {
    return io.cwd;
  } catch {
    return undefined;
  }
}
