import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  type AgentSettings,
  agentSettings,
  type Expansion,
  expandResourceCall,
  readPromptTemplates,
  readSkills,
  type Skill,
} from "@bonsai-agent/agent";
import type { ExtensionFactory } from "@bonsai-agent/extension";
import { findExtensions } from "@bonsai-agent/extension/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { inUse } from "../context-in-use.ts";

interface NamedFactory {
  name: string;
  factory: ExtensionFactory;
}

interface ExtensionList {
  extensions: { path: string; resolvedPath: string }[];
  errors: { path: string; error: string }[];
  runtime: { pendingProviderRegistrations: []; pendingNativeProviderRegistrations: [] };
}

interface ResourceLoaderOptions {
  cwd?: string;
  agentDir?: string;
  additionalExtensionPaths?: string[];
  additionalSkillPaths?: string[];
  additionalPromptTemplatePaths?: string[];
  extensionFactories?: (ExtensionFactory | NamedFactory)[];
  noExtensions?: boolean;
  noSkills?: boolean;
  noPromptTemplates?: boolean;
  noContextFiles?: boolean;
  /** A text or the path of a file. */
  systemPrompt?: string;
  appendSystemPrompt?: string[] | string;
  extensionsOverride?(base: ExtensionList): ExtensionList;
  systemPromptOverride?(base: string | undefined): string | undefined;
  appendSystemPromptOverride?(base: string[]): string[];
}

/** pi's loader of a session's resources: extensions, skills, templates and prompts. `createAgentSession` runs the extensions. */
export class DefaultResourceLoader {
  readonly #options: ResourceLoaderOptions;
  readonly cwd: string;
  readonly agentDir: string;
  #extensions: ExtensionList = { extensions: [], errors: [], runtime: noRegistrations() };
  #skills: readonly Skill[] = [];
  #templates: Awaited<ReturnType<typeof readPromptTemplates>>["templates"] = new Map();
  /** True after the first `reload`. */
  loaded = false;

  constructor(options: ResourceLoaderOptions = {}) {
    this.#options = options;
    this.cwd = resolve(options.cwd ?? process.cwd());
    this.agentDir = resolve(options.agentDir ?? bonsaiHome());
  }

  async reload(): Promise<void> {
    const { noSkills, additionalSkillPaths, noPromptTemplates, additionalPromptTemplatePaths } =
      this.#options;
    const skills = this.#places("skills", noSkills, additionalSkillPaths);
    const templates = this.#places("prompts", noPromptTemplates, additionalPromptTemplatePaths);
    this.#extensions = this.#findExtensions();
    this.#skills = (await readSkills(skills)).skills;
    this.#templates = (await readPromptTemplates(templates)).templates;
    this.loaded = true;
  }

  getExtensions(): ExtensionList {
    return this.#extensions;
  }

  /** The files of extensions, in load order. */
  get extensionPaths(): string[] {
    return this.#extensions.extensions.map(({ path }) => path).filter((path) => !path.startsWith("<inline:"));
  }

  /** The functions that are loaded like extensions. */
  get factories(): NamedFactory[] {
    const paths = new Set(this.#extensions.extensions.map(({ path }) => path));
    return this.#namedFactories().filter(({ name }) => paths.has(inlinePath(name)));
  }

  get skills(): readonly Skill[] {
    return this.#skills;
  }

  getSystemPrompt(): string | undefined {
    const { systemPrompt, systemPromptOverride } = this.#options;
    const base = systemPrompt && textOf(systemPrompt);
    return systemPromptOverride === undefined ? base : systemPromptOverride(base);
  }

  getAppendSystemPrompt(): string[] {
    const { appendSystemPrompt = [], appendSystemPromptOverride } = this.#options;
    const base = [appendSystemPrompt].flat().map(textOf);
    return appendSystemPromptOverride?.(base) ?? base;
  }

  /** The names of instruction files that the session reads. */
  instructionFiles({ instructionFiles }: AgentSettings): AgentSettings["instructionFiles"] {
    return this.#options.noContextFiles ? [] : instructionFiles;
  }

  /** The text of a template or a skill for a prompt that calls it. */
  expanded(text: string): Expansion | undefined {
    const [, called = ""] = /^\s*\/(\S+)/.exec(text) ?? [];
    const resource =
      this.#templates.get(called) ?? this.#skills.find(({ name }) => called === `skill:${name}`);
    return resource && { text: expandResourceCall(resource, text).text };
  }

  #findExtensions(): ExtensionList {
    const { additionalExtensionPaths = [], extensionsOverride, noExtensions = false } = this.#options;
    const { extensions, problems } = findExtensions({
      home: this.agentDir,
      cwd: this.cwd,
      isProjectTrusted: isProjectTrusted(),
      settingsPaths: settingsIn(this.agentDir).extensions,
      flagPaths: additionalExtensionPaths,
      onlyFlags: noExtensions,
    });
    const inline = this.#namedFactories().map(({ name }) => inlinePath(name));
    const base: ExtensionList = {
      extensions: [...extensions.map(({ path }) => path), ...inline].map((path) => ({
        path,
        resolvedPath: path,
      })),
      errors: problems.map(({ path, message }) => ({ path, error: message })),
      runtime: noRegistrations(),
    };
    return extensionsOverride?.(base) ?? base;
  }

  #namedFactories(): NamedFactory[] {
    const { extensionFactories = [] } = this.#options;
    return extensionFactories.map((each, index) =>
      typeof each === "function" ? { name: String(index + 1), factory: each } : each,
    );
  }

  /** The usual folders of a kind and additional paths. */
  #places(kind: string, isOff = false, additional: readonly string[] = []) {
    const user = { path: join(this.agentDir, kind), origin: "user" as const };
    const project = { path: join(this.cwd, ".bonsai", kind), origin: "project" as const };
    const usual = isOff ? [] : isProjectTrusted() ? [user, project] : [user];
    return [
      ...usual.filter(({ path }) => existsSync(path)),
      ...additional.map((path) => ({ path: resolve(this.cwd, path), origin: "settings" as const })),
    ];
  }
}

/** pi's name of an extension without a file. */
const inlinePath = (name: string): string => `<inline:${name}>`;

function noRegistrations(): ExtensionList["runtime"] {
  return { pendingProviderRegistrations: [], pendingNativeProviderRegistrations: [] };
}

function isProjectTrusted(): boolean {
  return inUse()?.extension.host?.isProjectTrusted() ?? false;
}

function textOf(given: string): string {
  return !given.includes("\n") && existsSync(given) ? readFileSync(given, "utf8") : given;
}

/** Unreadable settings count as none. */
function settingsIn(home: string): AgentSettings {
  try {
    return agentSettings(JSON.parse(readFileSync(join(home, "settings.json"), "utf8")));
  } catch {
    return agentSettings({});
  }
}
