import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { agentSettings } from "@bonsai-agent/agent";
import { isRecord } from "@bonsai-agent/messages";
import { defaultRetryPolicy } from "@bonsai-agent/models";
import { bonsaiHome } from "@bonsai-agent/session";
import { contextInUse } from "../models/requests.ts";

type Fields = Record<string, unknown>;

interface LoadError {
  scope: "global" | "project";
  path?: string;
  error: Error;
}

interface Loaded {
  settings: Fields;
  errors: LoadError[];
}

/** By the name behind `get` and `set`: where a value stands in pi's settings, and what it is where nobody said anything. */
const values: Readonly<Record<string, readonly [path: string, value?: unknown]>> = {
  DefaultProvider: ["defaultProvider"],
  DefaultModel: ["defaultModel"],
  DefaultThinkingLevel: ["defaultThinkingLevel"],
  DefaultTools: ["defaultTools"],
  EnabledModels: ["enabledModels"],
  CompactionEnabled: ["compaction.enabled", true],
  CompactionReserveTokens: ["compaction.reserveTokens", 16_384],
  CompactionKeepRecentTokens: ["compaction.keepRecentTokens", 20_000],
  RetryEnabled: ["retry.enabled", true],
  Theme: ["theme"],
  ThemeSetting: ["theme"],
  ExtensionPaths: ["extensions", []],
  Packages: ["packages", []],
  SkillPaths: ["skills", []],
  PromptTemplatePaths: ["prompts", []],
  ThemePaths: ["themes", []],
  SessionDir: ["sessionDir"],
  ShellPath: ["shellPath"],
  ShellCommandPrefix: ["shellCommandPrefix"],
  NpmCommand: ["npmCommand"],
  SteeringMode: ["steeringMode", "one-at-a-time"],
  FollowUpMode: ["followUpMode", "one-at-a-time"],
  Transport: ["transport", "auto"],
  ThinkingBudgets: ["thinkingBudgets"],
  HideThinkingBlock: ["hideThinkingBlock", false],
  QuietStartup: ["quietStartup", false],
  DefaultProjectTrust: ["defaultProjectTrust", "ask"],
  DoubleEscapeAction: ["doubleEscapeAction", "tree"],
  TreeFilterMode: ["treeFilterMode", "default"],
  ShowImages: ["terminal.showImages", true],
  ImageAutoResize: ["images.autoResize", false],
  BlockImages: ["images.blockImages", false],
  EditorPaddingX: ["editorPaddingX", 0],
  AutocompleteMaxVisible: ["autocompleteMaxVisible", 5],
  EnableSkillCommands: ["enableSkillCommands", false],
  CodeBlockIndent: ["markdown.codeBlockIndent", "  "],
};

/** Bonsai's settings under pi's names. What is set holds for this object; no file is written. */
export const SettingsManager = {
  create: (cwd: string, agentDir: string = bonsaiHome(), { projectTrusted = isTrusted() } = {}) =>
    managerOf(() => ({
      global: settingsIn(join(agentDir, "settings.json"), "global"),
      project: projectTrusted
        ? settingsIn(resolve(cwd, ".bonsai", "settings.json"), "project")
        : { settings: {}, errors: [] },
      projectTrusted,
    })),
  /** @param settings in pi's shape */
  inMemory: (settings: Fields = {}, { projectTrusted = true } = {}) =>
    managerOf(() => ({
      global: { settings, errors: [] },
      project: { settings: {}, errors: [] },
      projectTrusted,
    })),
};

interface Sources {
  global: Loaded;
  project: Loaded;
  projectTrusted: boolean;
}

function managerOf(load: () => Sources) {
  let { global, project, projectTrusted } = load();
  let overrides: Fields = {};
  const errors = [...global.errors, ...project.errors];
  const all = () => merged(merged(global.settings, project.settings), overrides);
  const get = (path: string): unknown => path.split(".").reduce(fieldOf, all());
  const set = (path: string, value: unknown): void => {
    const change = path.split(".").reduceRight((held: unknown, key) => ({ [key]: held }), value);
    overrides = merged(overrides, change as Fields);
  };
  const methods: Record<string, (value?: unknown) => unknown> = {};
  for (const [name, [path, value]] of Object.entries(values)) {
    methods[`get${name}`] = () => get(path) ?? value;
    methods[`set${name}`] = (given) => set(path, given);
  }
  const compaction = () => ({
    enabled: methods.getCompactionEnabled!(),
    reserveTokens: methods.getCompactionReserveTokens!(),
    keepRecentTokens: methods.getCompactionKeepRecentTokens!(),
  });
  return {
    ...methods,
    getGlobalSettings: () => structuredClone(global.settings),
    getProjectSettings: () => structuredClone(project.settings),
    getCompactionSettings: compaction,
    getBranchSummarySettings: () => ({
      reserveTokens: 16_384,
      skipPrompt: false,
      ...section("branchSummary"),
    }),
    getRetrySettings: () => ({ ...retryDefaults, ...section("retry") }),
    setDefaultModelAndProvider(provider: string, model: string) {
      set("defaultProvider", provider);
      set("defaultModel", model);
    },
    applyOverrides(given: Fields) {
      overrides = merged(overrides, given);
    },
    isProjectTrusted: () => projectTrusted,
    async reload() {
      ({ global, project, projectTrusted } = load());
      errors.push(...global.errors, ...project.errors);
    },
    async flush() {},
    drainErrors: () => errors.splice(0),
  };

  function section(name: string): Fields {
    const value = get(name);
    return isRecord(value) ? value : {};
  }
}

const retryDefaults = { enabled: true, maxRetries: 3, baseDelayMs: 2_000, maxAgentDelayMs: 60_000 };

/** A project says nothing before the user trusts it. */
function isTrusted(): boolean {
  return contextInUse()?.isProjectTrusted() ?? false;
}

/** What a settings file of Bonsai says, in pi's shape; its own fields stay beside that. */
function settingsIn(path: string, scope: LoadError["scope"]): Loaded {
  try {
    const written: unknown = JSON.parse(readFileSync(path, "utf8"));
    const own = isRecord(written) ? written : {};
    return { settings: { ...own, ...inPisShape(own) }, errors: [] };
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    return { settings: {}, errors: isMissing ? [] : [{ scope, path, error: error as Error }] };
  }
}

/** @throws BonsaiError for what Bonsai's settings cannot be */
function inPisShape(own: Fields): Fields {
  const { model, thinking, tools, compaction, retry } = agentSettings(own);
  const slash = model?.indexOf("/") ?? -1;
  const said = (name: string, fields: Fields): Fields => (own[name] === undefined ? {} : fields);
  const { enabled, keepRecentTokens, threshold } = compaction;
  const { maxRetries, maxDelayMs } = retry;
  const { baseDelayMs } = defaultRetryPolicy;
  return {
    ...said("model", { defaultProvider: model?.slice(0, slash), defaultModel: model?.slice(slash + 1) }),
    ...said("thinking", { defaultThinkingLevel: thinking }),
    ...said("tools", { defaultTools: tools }),
    ...said("compaction", {
      compaction: { enabled, keepRecentTokens, reserveTokens: threshold.reserveTokens },
    }),
    ...said("retry", {
      retry: { enabled: maxRetries > 0, maxRetries, baseDelayMs, maxAgentDelayMs: maxDelayMs },
    }),
  };
}

function fieldOf(value: unknown, key: string): unknown {
  return isRecord(value) ? value[key] : undefined;
}

/** Sections field by field, all else as a whole. */
function merged(base: Fields, over: Fields): Fields {
  const result = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isRecord(value) && isRecord(below) ? merged(below, value) : value;
  }
  return result;
}
