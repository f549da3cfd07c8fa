import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import {
  type AgentNotice,
  type AgentSettings,
  type Expansion,
  type LifecycleEvents,
  type PromptInput,
  readSkills,
  type Skill,
} from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { BonsaiError } from "@bonsai-agent/messages";
import { builtInSkills } from "./built-in-skill.ts";
import { absolutePath, shownPath } from "./paths.ts";
import type { Called, ReadTemplates } from "./resource-call.ts";
import { type ResourceKind, type ResourcePlace, resourceKinds, resourcePlaces } from "./resource-places.ts";

type PathSettings = Pick<AgentSettings, ResourceKind>;
type PlacedSkill = Skill & { place: ResourcePlace };

export interface ResourcesOptions {
  home: string;
  userHome: string;
  cwd: string;
  isProjectTrusted: () => boolean;
  /** Of the call: what its flags name, and which kinds are only what flags name. */
  flags: ResourceFlags;
  /** Asked again at each reload. */
  settings: () => PathSettings;
  lifecycle: Pick<Lifecycle<LifecycleEvents>, "hasHandlers" | "decide">;
  /** True where somebody may ask for the list of commands, which then is read with the skills. */
  listsCommands: () => boolean;
  /** Names that a text behind a slash has already: of the front end, and of extensions. */
  takenNames: () => { front: readonly string[]; extensions: readonly string[] };
  onNotice: (notice: AgentNotice) => void;
}

interface ResourceProblem {
  path: string;
  /** A sentence about the path. */
  message: string;
}

interface ResourceNotice extends ResourceProblem {
  code: string;
  level?: AgentNotice["level"];
}

/** For each kind the paths that flags name, and whether nothing else is looked at. */
export type ResourceFlags = Readonly<Record<ResourceKind, { paths: readonly string[]; only: boolean }>>;

/** A template or a skill as users call it. */
export interface ResourceCommand {
  /** Without the slash: `frontend:component`, `skill:pdf`. */
  name: string;
  description: string;
  argumentHint?: string | undefined;
  source: "prompt" | "skill";
  /** Its file. */
  path: string;
  place: ResourcePlace;
}

/**
 * Owner of the skills and prompt templates of a call, and of the places of themes. Templates are read when somebody types
 * a slash; skills before the first request, for the system prompt names them.
 */
export class Resources {
  readonly #options: ResourcesOptions;
  #settings: PathSettings;
  /** What packages and extensions bring. */
  #packages: Promise<readonly (ResourcePlace & { kind: ResourceKind })[]> | undefined;
  #discovered: readonly (ResourcePlace & { kind: ResourceKind })[] = [];
  #templates: Promise<ReadTemplates> | undefined;
  /** The same, once they are there. */
  #readTemplatesNow: ReadTemplates["templates"] = new Map();
  #skills: readonly PlacedSkill[] = [];
  readonly #notified = new Set<string>();

  constructor(options: ResourcesOptions) {
    this.#options = options;
    this.#settings = options.settings();
    this.#checkFlags();
  }

  /** Where a kind is looked for now. */
  async places(kind: ResourceKind): Promise<ResourcePlace[]> {
    const { home, userHome, cwd, flags, isProjectTrusted } = this.#options;
    this.#packages ??= packagePlaces(home, (path, message) =>
      this.#notify({
        /** A package declares its skills, prompt templates or themes wrongly. */
        code: "resource_unread",
        path,
        message,
      }),
    );
    const named = (origin: "settings" | "flag", paths: readonly string[]): ResourcePlace[] =>
      paths.map((path) => ({ path: absolutePath(path, cwd), origin }));
    const more = [...(await this.#packages), ...this.#discovered].filter((place) => place.kind === kind);
    return resourcePlaces(kind, {
      home,
      userHome,
      cwd,
      isProjectTrusted: isProjectTrusted(),
      more: [...more, ...named("settings", this.#settings[kind]), ...named("flag", flags[kind].paths)],
      onlyFlags: flags[kind].only,
    });
  }

  /**
   * Asks extensions what they bring, and reads the skills; to be called once extensions are started. At a reload, all
   * is read anew: settings, packages and files.
   */
  async load(reason: "startup" | "reload", signal?: AbortSignal): Promise<void> {
    if (reason === "reload") this.#forget();
    await this.#discover(reason, signal);
    await this.#readSkills();
    if (this.#options.listsCommands()) await this.#readTemplates();
  }

  #forget(): void {
    const { settings, onNotice } = this.#options;
    try {
      this.#settings = settings();
    } catch (error) {
      if (!BonsaiError.is(error)) throw error;
      // What they said before holds.
      onNotice({ level: "warning", code: error.code, message: `${error.message} ${error.hint}` });
    }
    this.#packages = undefined;
    this.#discovered = [];
    this.#templates = undefined;
    this.#notified.clear();
  }

  async #discover(reason: "startup" | "reload", signal: AbortSignal | undefined): Promise<void> {
    const { lifecycle, cwd } = this.#options;
    if (!lifecycle.hasHandlers("resources_discover")) return;
    const event = { type: "resources_discover" as const, cwd, reason };
    const { result = {} } = await lifecycle.decide("resources_discover", event, signal && { signal });
    // Who did not wait for the answer keeps what was said before.
    if (signal?.aborted) return;
    const { skillPaths = [], promptPaths = [], themePaths = [] } = result;
    const found = { skills: skillPaths, prompts: promptPaths, themes: themePaths };
    this.#discovered = resourceKinds.flatMap((kind) =>
      found[kind].map((path) => ({ kind, path: absolutePath(path, cwd), origin: "extension" as const })),
    );
    this.#templates = undefined;
  }

  /** The skills that were read last. */
  get skills(): readonly PlacedSkill[] {
    return this.#skills;
  }

  async #readSkills(): Promise<void> {
    const places = await this.places("skills");
    const ofBonsai = this.#options.flags.skills.only ? [] : builtInSkills();
    if (!places.some(({ path }) => existsSync(path))) {
      this.#skills = ofBonsai;
      return;
    }
    const { skills, problems } = await readSkills(places);
    const isReplaced = ({ name }: PlacedSkill) => skills.some((skill) => skill.name === name);
    this.#skills = [...ofBonsai.filter((skill) => !isReplaced(skill)), ...skills];
    this.#notifyMissing(places);
    this.#notifyEach(problems, (problem) =>
      this.#notify({
        /** A skill cannot be read, or another skill has its name. */
        code: "skill_unread",
        ...problem,
      }),
    );
  }

  /** What can be called behind a slash, templates before skills. What the front end or an extension calls so is not in it. */
  async commands(): Promise<readonly ResourceCommand[]> {
    await this.#readTemplates();
    return this.readCommands;
  }

  /** The same, of what was read so far. */
  get readCommands(): readonly ResourceCommand[] {
    const skills = this.#skills
      .filter(({ isForUser }) => isForUser)
      .map(({ name, description, argumentHint, path, place }) => {
        return { name: `skill:${name}`, description, argumentHint, source: "skill" as const, path, place };
      });
    const taken = new Set([...this.#takenNames(), ...skills.map(({ name }) => name)]);
    const prompts = [...this.#readTemplatesNow.values()]
      .filter(({ name }) => !taken.has(name))
      .map(({ name, description, argumentHint, path, place }) => {
        return { name, description, argumentHint, source: "prompt" as const, path, place };
      });
    return [...prompts.sort(byName), ...skills.sort(byName)];
  }

  /** True for a text that calls a template or a skill. */
  async hasCommand(text: string): Promise<boolean> {
    return (await this.#called(text)) !== undefined;
  }

  /**
   * What is sent for a text that calls a template or a skill; undefined for any other.
   * @throws BonsaiError `skill_unreadable`
   */
  async expand({ text, images = [] }: Pick<PromptInput, "text" | "images">): Promise<Expansion | undefined> {
    if (!/^\s*\//.test(text)) return undefined;
    const called = await this.#called(text);
    if (called === undefined) return undefined;
    const { expandCall } = await import("./resource-call.ts");
    return expandCall(called, {
      text,
      images,
      cwd: this.#options.cwd,
      onNotice: (notice) => this.#notify({ ...notice, level: "info" }),
    });
  }

  async #called(text: string): Promise<Called | undefined> {
    const [, name] = /^\s*\/(\S+)/.exec(text) ?? [];
    if (name === undefined) return undefined;
    const { templates } = await this.#readTemplates();
    const skill = this.#skills.find((each) => each.isForUser && `skill:${each.name}` === name);
    if (skill !== undefined) return skill;
    return this.#takenNames().has(name) ? undefined : templates.get(name);
  }

  #takenNames(): ReadonlySet<string> {
    const { front, extensions } = this.#options.takenNames();
    return new Set([...front, ...extensions]);
  }

  #readTemplates(): Promise<ReadTemplates> {
    this.#templates ??= this.#templatesOf();
    return this.#templates;
  }

  async #templatesOf(): Promise<ReadTemplates> {
    const places = await this.places("prompts");
    this.#notifyMissing(places);
    const { readPromptTemplates } = await import("@bonsai-agent/agent");
    const read = await readPromptTemplates(places);
    this.#notifyEach(read.problems, (problem) =>
      this.#notify({
        /** A prompt template cannot be read, or only without its fields. */
        code: "prompt_unread",
        ...problem,
      }),
    );
    this.#notifyTaken(read);
    this.#readTemplatesNow = read.templates;
    return read;
  }

  /** Commands come first; a template of that name is a mistake, or was there before the command. */
  #notifyTaken({ templates }: ReadTemplates): void {
    const { front, extensions } = this.#options.takenNames();
    for (const { name, path } of templates.values()) {
      const owner = front.includes(name) ? "Bonsai" : extensions.includes(name) ? "an extension" : undefined;
      if (owner !== undefined)
        this.#notify({
          code: "prompt_name_taken",
          path,
          message: `/${name} is a command of ${owner}. To use this prompt template, rename the file.`,
        });
    }
  }

  /** Of places that somebody named. */
  #notifyMissing(places: readonly ResourcePlace[]): void {
    for (const { path, origin } of places)
      if ((origin === "settings" || origin === "extension") && !existsSync(path))
        this.#notify({
          code: "resource_missing",
          path,
          message: `It does not exist, but ${sources[origin]}.`,
        });
  }

  #notifyEach(problems: readonly ResourceProblem[], notify: (problem: ResourceProblem) => void): void {
    for (const { path, message } of problems.slice(0, MOST_PROBLEMS)) notify({ path, message });
    const more = problems.length - MOST_PROBLEMS;
    if (more > 0) notify({ path: `${more} more files`, message: "They have similar problems." });
  }

  /** Once until all is read anew. */
  #notify({ code, path, message, level = "warning" }: ResourceNotice): void {
    const text = `${isAbsolute(path) ? shownPath(path, this.#options.cwd) : path}: ${message}`;
    if (this.#notified.has(text)) return;
    this.#notified.add(text);
    this.#options.onNotice({ level, code, message: text });
  }

  /** Who names a path by a flag wants what is there: nothing goes on without it. */
  #checkFlags(): void {
    const { flags, cwd } = this.#options;
    for (const kind of resourceKinds)
      for (const path of flags[kind].paths)
        if (!existsSync(absolutePath(path, cwd)))
          throw new BonsaiError({
            code: "resource_not_found",
            message: `${flagOf[kind]} ${path}: ${absolutePath(path, cwd)} does not exist.`,
            hint: "Correct the path, or omit the flag.",
          });
  }
}

function byName(a: ResourceCommand, b: ResourceCommand): number {
  return a.name < b.name ? -1 : 1;
}

/** What a template or a skill is for, and where it is from. */
export function describedCommand({
  description,
  place,
}: Pick<ResourceCommand, "description" | "place">): string {
  const { origin, from } = place;
  return `${description} (${from ?? origin})`;
}

/** Of a folder full of mistakes, the first. */
const MOST_PROBLEMS = 5;

const sources = { settings: "the settings name it", extension: "an extension names it" } as const;

const flagOf: Readonly<Record<ResourceKind, string>> = {
  skills: "--skill",
  prompts: "--prompt-template",
  themes: "--theme",
};

/** What flags say of resources. */
export function resourceFlags(options: Readonly<Record<string, unknown>>): ResourceFlags {
  const of = (paths: unknown, all: unknown) => ({
    paths: Array.isArray(paths) ? (paths as string[]) : [],
    only: all === false,
  });
  return {
    skills: of(options.skill, options.skills),
    prompts: of(options.promptTemplate, options.promptTemplates),
    themes: of(options.theme, options.themes),
  };
}

/** What runs npm and reads manifests is loaded only where a package is installed. */
async function packagePlaces(
  home: string,
  onProblem: (path: string, message: string) => void,
): Promise<readonly (ResourcePlace & { kind: ResourceKind })[]> {
  if (!existsSync(join(home, "packages"))) return [];
  const [{ installedPackages }, { packageResources }] = await Promise.all([
    import("./installed-packages.ts"),
    import("@bonsai-agent/extension/host"),
  ]);
  // Records that cannot be read are a problem of the packages' extensions.
  const { packages } = installedPackages(home);
  return packages.flatMap(({ name, folder }) =>
    resourceKinds.flatMap((kind) => {
      const { paths, problems } = packageResources(folder, kind);
      for (const { path, message, hint } of problems) onProblem(path, `${message} ${hint}`);
      return paths.map((path) => ({ kind, path, origin: "package" as const, from: name }));
    }),
  );
}
