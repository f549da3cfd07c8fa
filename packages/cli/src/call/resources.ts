import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
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
import type { Call } from "./invocation.ts";
import { absolutePath, shownPath } from "./paths.ts";
import { projectPlace } from "./project.ts";
import type { Called, ReadTemplates } from "./resource-call.ts";
import { type ResourceKind, type ResourcePlace, resourceKinds, resourcePlaces } from "./resource-places.ts";
import { isProjectTrusted } from "./trust.ts";

type PlacedSkill = Skill & { place: ResourcePlace };
type KindPlace = ResourcePlace & { kind: ResourceKind };

export interface ResourcesOptions {
  call: Call;
  settings: () => Pick<AgentSettings, ResourceKind>;
  lifecycle: Pick<Lifecycle<LifecycleEvents>, "hasHandlers" | "decide">;
  extensions: {
    readonly now: { loaded: readonly unknown[]; commands: readonly { name: string }[] };
  };
  reservedCommands: readonly string[];
  onNotice: (notice: AgentNotice) => void;
}

/** A problem of a file or folder. The message is a sentence about the path. */
interface ResourceNotice {
  path: string;
  message: string;
  code: string;
  level?: AgentNotice["level"];
}

/** A template or a skill that the user can call. */
export interface ResourceCommand {
  /** Without the slash: `frontend:component`, `skill:pdf`. */
  name: string;
  description: string;
  argumentHint?: string | undefined;
  source: "prompt" | "skill";
  path: string;
  place: ResourcePlace;
}

/**
 * Owner of the skills and prompt templates of a call, and of the places of themes. Templates are read when the user types
 * a slash; skills before the first request, because the system prompt names them.
 */
export class Resources {
  readonly #options: ResourcesOptions;
  readonly #cwd: string;
  #packages: Promise<readonly KindPlace[]> | undefined;
  /** Paths that extensions name. */
  #discovered: readonly KindPlace[] = [];
  #templates: Promise<ReadTemplates> | undefined;
  #templatesNow: ReadTemplates["templates"] = new Map();
  #skills: readonly PlacedSkill[] = [];
  readonly #notified = new Set<string>();

  constructor(options: ResourcesOptions) {
    this.#options = options;
    this.#cwd = options.call.io.cwd;
    checkFlags(options.call);
  }

  /** The files and folders of a kind; later ones win. */
  async places(kind: ResourceKind): Promise<ResourcePlace[]> {
    const { call, settings } = this.#options;
    const place = projectPlace(call);
    this.#packages ??= packagePlaces(place.home, (path, message) =>
      this.#notify({
        /** A package declares its skills, prompt templates or themes wrongly. */
        code: "resource_unread",
        path,
        message,
      }),
    );
    const named = (origin: "settings" | "flag", paths: readonly string[]): ResourcePlace[] =>
      paths.map((path) => ({ path: absolutePath(path, this.#cwd), origin }));
    const more = [...(await this.#packages), ...this.#discovered].filter((each) => each.kind === kind);
    return resourcePlaces(kind, {
      ...place,
      isProjectTrusted: isProjectTrusted(call),
      more: [...more, ...named("settings", settings()[kind]), ...named("flag", flagPaths(kind, call))],
      onlyFlags: isOnlyFlags(kind, call),
    });
  }

  /** Asks extensions for resources, and reads the skills. Call it once extensions are started. */
  async load(reason: "startup" | "reload", signal?: AbortSignal): Promise<void> {
    if (reason === "reload") {
      this.#packages = undefined;
      this.#discovered = [];
      this.#templates = undefined;
      this.#notified.clear();
    }
    await this.#discover(reason, signal);
    await this.#readSkills();
    // Extensions can list the commands at once.
    if (this.#options.extensions.now.loaded.length > 0) await this.#readTemplates();
  }

  async #discover(reason: "startup" | "reload", signal: AbortSignal | undefined): Promise<void> {
    const { lifecycle } = this.#options;
    if (!lifecycle.hasHandlers("resources_discover")) return;
    const event = { type: "resources_discover" as const, cwd: this.#cwd, reason };
    const { result = {} } = await lifecycle.decide("resources_discover", event, signal && { signal });
    if (signal?.aborted) return;
    const { skillPaths = [], promptPaths = [], themePaths = [] } = result;
    const found = { skills: skillPaths, prompts: promptPaths, themes: themePaths };
    this.#discovered = resourceKinds.flatMap((kind) =>
      found[kind].map((path) => ({
        kind,
        path: absolutePath(path, this.#cwd),
        origin: "extension" as const,
      })),
    );
    this.#templates = undefined;
  }

  get skills(): readonly PlacedSkill[] {
    return this.#skills;
  }

  async #readSkills(): Promise<void> {
    const places = await this.places("skills");
    const builtIn = isOnlyFlags("skills", this.#options.call) ? [] : builtInSkills();
    const { skills, problems } = places.some(({ path }) => existsSync(path))
      ? await readSkills(places)
      : { skills: [], problems: [] };
    const isReplaced = ({ name }: PlacedSkill) => skills.some((skill) => skill.name === name);
    this.#skills = [...builtIn.filter((skill) => !isReplaced(skill)), ...skills];
    this.#notifyMissing(places);
    this.#notifyFirst(problems, (problem) =>
      this.#notify({
        /** A skill cannot be read, or another skill has its name. */
        code: "skill_unread",
        ...problem,
      }),
    );
  }

  /** Templates, then skills, without those whose name a command of the front end or an extension has. */
  async commands(): Promise<readonly ResourceCommand[]> {
    await this.#readTemplates();
    return this.readCommands;
  }

  get readCommands(): readonly ResourceCommand[] {
    const skills = this.#skills
      .filter(({ isForUser }) => isForUser)
      .map(({ name, description, argumentHint, path, place }) => {
        return { name: `skill:${name}`, description, argumentHint, source: "skill" as const, path, place };
      });
    const reserved = new Set([...this.#reservedNames(), ...skills.map(({ name }) => name)]);
    const prompts = [...this.#templatesNow.values()]
      .filter(({ name }) => !reserved.has(name))
      .map(({ name, description, argumentHint, path, place }) => {
        return { name, description, argumentHint, source: "prompt" as const, path, place };
      });
    return [...prompts.sort(byName), ...skills.sort(byName)];
  }

  async hasCommand(text: string): Promise<boolean> {
    return (await this.#called(text)) !== undefined;
  }

  /** Expands a text that calls a template or a skill; undefined for any other. @throws BonsaiError `skill_unreadable` */
  async expand({ text, images = [] }: Pick<PromptInput, "text" | "images">): Promise<Expansion | undefined> {
    const called = await this.#called(text);
    if (called === undefined) return undefined;
    const { expandCall } = await import("./resource-call.ts");
    const onNotice = (notice: ResourceNotice) => this.#notify({ ...notice, level: "info" });
    return expandCall(called, { text, images, cwd: this.#cwd, onNotice });
  }

  async #called(text: string): Promise<Called | undefined> {
    const [, name] = /^\s*\/(\S+)/.exec(text) ?? [];
    if (name === undefined) return undefined;
    const { templates } = await this.#readTemplates();
    const skill = this.#skills.find((each) => each.isForUser && `skill:${each.name}` === name);
    if (skill !== undefined) return skill;
    return this.#reservedNames().has(name) ? undefined : templates.get(name);
  }

  #reservedNames(): ReadonlySet<string> {
    const { reservedCommands, extensions } = this.#options;
    return new Set([...reservedCommands, ...extensions.now.commands.map(({ name }) => name)]);
  }

  #readTemplates(): Promise<ReadTemplates> {
    this.#templates ??= this.#readTemplatesAnew();
    return this.#templates;
  }

  async #readTemplatesAnew(): Promise<ReadTemplates> {
    const places = await this.places("prompts");
    this.#notifyMissing(places);
    const { readPromptTemplates } = await import("@bonsai-agent/agent");
    const read = await readPromptTemplates(places);
    this.#notifyFirst(read.problems, (problem) =>
      this.#notify({
        /** A prompt template cannot be read, or only without its fields. */
        code: "prompt_unread",
        ...problem,
      }),
    );
    const { reservedCommands } = this.#options;
    const reserved = this.#reservedNames();
    for (const { name, path } of read.templates.values()) {
      if (!reserved.has(name)) continue;
      const owner = reservedCommands.includes(name) ? "Bonsai" : "an extension";
      this.#notify({
        code: "prompt_name_taken",
        path,
        message: `/${name} is a command of ${owner}. To use this prompt template, rename the file.`,
      });
    }
    this.#templatesNow = read.templates;
    return read;
  }

  #notifyMissing(places: readonly ResourcePlace[]): void {
    for (const { path, origin } of places)
      if ((origin === "settings" || origin === "extension") && !existsSync(path))
        this.#notify({
          code: "resource_missing",
          path,
          message: `It does not exist, but ${origin === "settings" ? "the settings name it" : "an extension names it"}.`,
        });
  }

  #notifyFirst(
    problems: readonly Pick<ResourceNotice, "path" | "message">[],
    notify: (problem: Pick<ResourceNotice, "path" | "message">) => void,
  ): void {
    for (const { path, message } of problems.slice(0, MAX_PROBLEMS)) notify({ path, message });
    const more = problems.length - MAX_PROBLEMS;
    if (more > 0) notify({ path: `${more} more files`, message: "They have similar problems." });
  }

  /** Notifies once until a reload. */
  #notify({ code, path, message, level = "warning" }: ResourceNotice): void {
    const text = `${isAbsolute(path) ? shownPath(path, this.#cwd) : path}: ${message}`;
    if (this.#notified.has(text)) return;
    this.#notified.add(text);
    this.#options.onNotice({ level, code, message: text });
  }
}

function byName(a: ResourceCommand, b: ResourceCommand): number {
  return a.name < b.name ? -1 : 1;
}

export function describedCommand({
  description,
  place,
}: Pick<ResourceCommand, "description" | "place">): string {
  const { origin, from } = place;
  return `${description} (${from ?? origin})`;
}

/** Named problems of one folder; a notice counts the others. */
const MAX_PROBLEMS = 5;

/** The flag that names paths of a kind, its option, and the option that `--no-…` sets to false. */
const FLAGS: Readonly<Record<ResourceKind, readonly [flag: string, paths: string, all: string]>> = {
  skills: ["--skill", "skill", "skills"],
  prompts: ["--prompt-template", "promptTemplate", "promptTemplates"],
  themes: ["--theme", "theme", "themes"],
};

function flagPaths(kind: ResourceKind, { options }: Call): readonly string[] {
  return (options[FLAGS[kind][1]] ?? []) as readonly string[];
}

/** True after `--no-skills` and the like: only paths of flags count. */
function isOnlyFlags(kind: ResourceKind, { options }: Call): boolean {
  return options[FLAGS[kind][2]] === false;
}

/** @throws BonsaiError `resource_not_found` */
function checkFlags(call: Call): void {
  for (const kind of resourceKinds)
    for (const path of flagPaths(kind, call)) {
      const absolute = absolutePath(path, call.io.cwd);
      if (existsSync(absolute)) continue;
      throw new BonsaiError({
        code: "resource_not_found",
        message: `${FLAGS[kind][0]} ${path}: ${absolute} does not exist.`,
        hint: "Correct the path, or omit the flag.",
      });
    }
}

/** The resources of installed packages. Loads the code for packages only if there are any. */
async function packagePlaces(
  home: string,
  onProblem: (path: string, message: string) => void,
): Promise<readonly KindPlace[]> {
  if (!existsSync(join(home, "packages"))) return [];
  const [{ installedPackages }, { packageResources }] = await Promise.all([
    import("./installed-packages.ts"),
    import("@bonsai-agent/extension/host"),
  ]);
  // The extensions report damaged records.
  const { packages } = installedPackages(home);
  return packages.flatMap(({ name, folder }) =>
    resourceKinds.flatMap((kind) => {
      const { paths, problems } = packageResources(folder, kind);
      for (const { path, message, hint } of problems) onProblem(path, `${message} ${hint}`);
      return paths.map((path) => ({ kind, path, origin: "package" as const, from: name }));
    }),
  );
}

/** A copy from SKILL.md, so that a start reads no file for it. A test compares both. */
const BUILT_IN_DESCRIPTION =
  "Answers questions about Bonsai itself (the bonsai command) - its commands, slash commands, flags, settings, " +
  "compaction, sessions, extensions, models and errors. Use it when the user asks how Bonsai works or how to configure or extend it.";

/** The skill that answers questions about Bonsai: beside the bundle, or in the repository. */
export function builtInSkills(): PlacedSkill[] {
  const folder = ["../skills/bonsai", "../../skills/bonsai"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(join(path, "SKILL.md")));
  if (folder === undefined) return [];
  return [
    {
      name: "bonsai",
      description: BUILT_IN_DESCRIPTION,
      path: join(folder, "SKILL.md"),
      folder,
      isForModel: true,
      isForUser: false,
      readable: folder,
      place: { path: folder, origin: "package", from: "bonsai" },
    },
  ];
}
