import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { agentSettings, projectInstructions, readPromptTemplates } from "@bonsai-agent/agent";
import type { ExtensionFactory } from "@bonsai-agent/extension";
import { type FoundExtension, findExtensions } from "@bonsai-agent/extension/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { hostInUse } from "../models/requests.ts";
import { type LoadedSkills, loadSkills } from "../modules/skills.ts";

type ProjectInstruction = Awaited<ReturnType<typeof projectInstructions>>[number];
type PromptTemplates = Awaited<ReturnType<typeof readPromptTemplates>>["templates"];

/** A function, or one with a name. */
export type GivenFactory = ExtensionFactory | { name: string; factory: ExtensionFactory };

interface ExtensionList {
  extensions: { path: string; resolvedPath: string }[];
  errors: { path: string; error: string }[];
  runtime: { pendingProviderRegistrations: []; pendingNativeProviderRegistrations: [] };
}

interface Prompts {
  prompts: object[];
  diagnostics: object[];
}

export interface ResourceLoaderOptions {
  cwd?: string;
  agentDir?: string;
  additionalExtensionPaths?: string[];
  additionalSkillPaths?: string[];
  additionalPromptTemplatePaths?: string[];
  extensionFactories?: GivenFactory[];
  noExtensions?: boolean;
  noSkills?: boolean;
  noPromptTemplates?: boolean;
  noContextFiles?: boolean;
  systemPrompt?: string;
  appendSystemPrompt?: string[] | string;
  extensionsOverride?(base: ExtensionList): ExtensionList;
  skillsOverride?(base: LoadedSkills): LoadedSkills;
  promptsOverride?(base: Prompts): Prompts;
  agentsFilesOverride?(base: { agentsFiles: ContextFile[] }): { agentsFiles: ContextFile[] };
  systemPromptOverride?(base: string | undefined): string | undefined;
  appendSystemPromptOverride?(base: string[]): string[];
}

interface ContextFile {
  path: string;
  content: string;
}

/**
 * pi's loader of what a session is made of: extensions, skills, templates and instructions. Extensions are found here, and
 * run when a session is created.
 */
export class DefaultResourceLoader {
  readonly #options: ResourceLoaderOptions;
  readonly cwd: string;
  readonly agentDir: string;
  #extensions: ExtensionList = noExtensions();
  #skills: LoadedSkills = { skills: [], diagnostics: [] };
  #templates: PromptTemplates = new Map();
  #prompts: Prompts = { prompts: [], diagnostics: [] };
  #instructions: readonly ProjectInstruction[] = [];
  #more = { skillPaths: [] as string[], promptPaths: [] as string[] };
  /** True after the first `reload`. */
  loaded = false;

  constructor(options: ResourceLoaderOptions = {}) {
    this.#options = options;
    this.cwd = resolve(options.cwd ?? process.cwd());
    this.agentDir = resolve(options.agentDir ?? bonsaiHome());
  }

  /** Reads everything anew. */
  async reload(): Promise<void> {
    this.#findExtensions();
    this.#readSkills();
    await this.#readPrompts();
    const { noContextFiles = false } = this.#options;
    this.#instructions = noContextFiles ? [] : await instructionsFor(this.cwd, this.agentDir);
    this.loaded = true;
  }

  getExtensions(): ExtensionList {
    return this.#extensions;
  }

  /** The functions that are loaded beside files, by their names. */
  get factories(): { name: string; factory: ExtensionFactory }[] {
    const { extensionFactories = [] } = this.#options;
    const paths = new Set(this.#extensions.extensions.map(({ path }) => path));
    return namedFactories(extensionFactories).filter(({ name }) => paths.has(inlinePath(name)));
  }

  /** The files of extensions, in load order. */
  get extensionPaths(): string[] {
    return this.#extensions.extensions.map(({ path }) => path).filter((path) => !path.startsWith("<inline:"));
  }

  getSkills(): LoadedSkills {
    return this.#skills;
  }

  getPrompts(): Prompts {
    return this.#prompts;
  }

  get templates(): PromptTemplates {
    return this.#templates;
  }

  getThemes(): { themes: []; diagnostics: [] } {
    return { themes: [], diagnostics: [] };
  }

  getAgentsFiles(): { agentsFiles: ContextFile[] } {
    const agentsFiles = this.#instructions.map(({ path, text }) => ({ path, content: text }));
    return this.#options.agentsFilesOverride?.({ agentsFiles }) ?? { agentsFiles };
  }

  getSystemPrompt(): string | undefined {
    const { systemPrompt, systemPromptOverride } = this.#options;
    const base = systemPrompt === undefined ? undefined : textOrFile(systemPrompt);
    return systemPromptOverride === undefined ? base : systemPromptOverride(base);
  }

  getSystemPromptSource(): undefined {
    return undefined;
  }

  getAppendSystemPrompt(): string[] {
    const { appendSystemPrompt = [], appendSystemPromptOverride } = this.#options;
    const base = [appendSystemPrompt].flat().map(textOrFile);
    return appendSystemPromptOverride?.(base) ?? base;
  }

  getAppendSystemPromptSources(): [] {
    return [];
  }

  /** Adds skills and templates. */
  extendResources({
    skillPaths = [],
    promptPaths = [],
  }: Record<"skillPaths" | "promptPaths", Given[]>): void {
    this.#more.skillPaths.push(...skillPaths.map(pathOf));
    this.#more.promptPaths.push(...promptPaths.map(pathOf));
    this.#readSkills();
    void this.#readPrompts();
  }

  #findExtensions(): void {
    const { additionalExtensionPaths = [], extensionFactories = [], extensionsOverride } = this.#options;
    const found = findExtensions({
      home: this.agentDir,
      cwd: this.cwd,
      isProjectTrusted: hostInUse()?.isProjectTrusted() ?? false,
      settingsPaths: settingsExtensions(this.agentDir),
      flagPaths: additionalExtensionPaths,
      onlyFlags: this.#options.noExtensions ?? false,
    });
    const paths = found.extensions.map(({ path }: FoundExtension) => path);
    const inline = namedFactories(extensionFactories).map(({ name }) => inlinePath(name));
    const base: ExtensionList = {
      ...noExtensions(),
      extensions: [...paths, ...inline].map((path) => ({ path, resolvedPath: path })),
      errors: found.problems.map(({ path, message }) => ({ path, error: message })),
    };
    this.#extensions = extensionsOverride?.(base) ?? base;
  }

  #readSkills(): void {
    const { noSkills = false, additionalSkillPaths = [], skillsOverride } = this.#options;
    const skillPaths = [...additionalSkillPaths, ...this.#more.skillPaths];
    const places = { cwd: this.cwd, agentDir: this.agentDir, skillPaths, includeDefaults: !noSkills };
    const read = loadSkills(places);
    this.#skills = skillsOverride?.(read) ?? read;
  }

  async #readPrompts(): Promise<void> {
    const { noPromptTemplates = false, additionalPromptTemplatePaths = [], promptsOverride } = this.#options;
    const usual = [join(this.agentDir, "prompts"), join(this.cwd, ".bonsai", "prompts")].filter(existsSync);
    const paths = [
      ...(noPromptTemplates ? [] : usual),
      ...additionalPromptTemplatePaths,
      ...this.#more.promptPaths,
    ];
    const { templates, problems } = await readPromptTemplates(
      paths.map((path) => ({ path: resolve(this.cwd, path) })),
    );
    this.#templates = templates;
    const base = {
      prompts: [...templates.values()].map(({ name, description, body, path }) => ({
        ...{ name, description, content: body, filePath: path },
      })),
      diagnostics: problems.map(({ path, message }) => ({ type: "warning", path, message })),
    };
    this.#prompts = promptsOverride?.(base) ?? base;
  }
}

type Given = string | { path: string };

const pathOf = (given: Given): string => (typeof given === "string" ? given : given.path);

/** As pi names extensions that are no files. */
export const inlinePath = (name: string): string => `<inline:${name}>`;

function namedFactories(given: readonly GivenFactory[]): { name: string; factory: ExtensionFactory }[] {
  return given.map((each, index) =>
    typeof each === "function" ? { name: String(index + 1), factory: each } : each,
  );
}

function noExtensions(): ExtensionList {
  const runtime: ExtensionList["runtime"] = {
    pendingProviderRegistrations: [],
    pendingNativeProviderRegistrations: [],
  };
  return { extensions: [], errors: [], runtime };
}

/** Settings that cannot be read bring none. */
function settingsExtensions(home: string): readonly string[] {
  try {
    return agentSettings(JSON.parse(readFileSync(join(home, "settings.json"), "utf8"))).extensions;
  } catch {
    return [];
  }
}

function textOrFile(given: string): string {
  return !given.includes("\n") && existsSync(given) ? readFileSync(given, "utf8") : given;
}

function instructionsFor(cwd: string, home: string): Promise<ProjectInstruction[]> {
  const { instructionFiles } = hostInUse()?.agent()?.settings ?? agentSettings({});
  return projectInstructions({ cwd, home, fileNames: instructionFiles });
}

/** The instructions of a project and its user, the most general first. */
export async function loadProjectContextFiles({
  cwd,
  agentDir = bonsaiHome(),
}: {
  cwd: string;
  agentDir?: string;
}): Promise<ContextFile[]> {
  const read = await instructionsFor(cwd, agentDir);
  return read.map(({ path, text }) => ({ path, content: text }));
}
