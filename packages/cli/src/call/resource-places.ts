import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** What users keep as files beside their settings and extensions. */
export type ResourceKind = "skills" | "prompts" | "themes";

export const resourceKinds: readonly ResourceKind[] = ["skills", "prompts", "themes"];

/** Where such a file or folder was found. */
export type ResourceOrigin = "package" | "user" | "project" | "settings" | "extension" | "flag";

/** A file, or a folder that is searched. It need not exist. */
export interface ResourcePlace {
  /** Absolute. */
  path: string;
  origin: ResourceOrigin;
  /** The package, or the extension, that brings it. */
  from?: string;
}

export interface ResourcePlacesOptions {
  /** Bonsai's home folder. */
  home: string;
  /** The user's home folder, for what other agents keep there. */
  userHome: string;
  cwd: string;
  /** False leaves the project's own aside. */
  isProjectTrusted: boolean;
  /** What packages and extensions bring, what settings and flags name. Default: none. */
  more?: readonly ResourcePlace[];
  /** Only what flags name. Default false. */
  onlyFlags?: boolean;
}

/** Folders below the user's home, with those of other agents first: what stands in Bonsai's own counts above them. */
const userFolders: Readonly<Record<ResourceKind, readonly string[]>> = {
  skills: [".claude/skills", ".pi/agent/skills", ".agents/skills"],
  prompts: [".claude/commands", ".pi/agent/prompts"],
  themes: [".pi/agent/themes"],
};

const projectFolders: Readonly<Record<ResourceKind, readonly string[]>> = {
  skills: [".claude/skills", ".pi/skills", ".agents/skills", ".bonsai/skills"],
  prompts: [".claude/commands", ".pi/prompts", ".bonsai/prompts"],
  themes: [".pi/themes", ".bonsai/themes"],
};

/** What counts over what: the later. */
const order: readonly ResourceOrigin[] = ["package", "user", "project", "settings", "extension", "flag"];

/**
 * Where things of a kind are looked for, in order: what is found later stands over what has the same name. A place with
 * two names, by a link for instance, counts once, as the later.
 */
export function resourcePlaces(kind: ResourceKind, options: ResourcePlacesOptions): ResourcePlace[] {
  const { home, userHome, isProjectTrusted, more = [], onlyFlags = false } = options;
  const at = (folder: string, names: readonly string[]): ResourcePlace[] =>
    names.map((name) => ({ path: join(folder, name), origin: "user" }));
  const found: readonly ResourcePlace[] = [
    ...at(userHome, userFolders[kind]),
    ...at(home, [kind]),
    ...(isProjectTrusted ? projectPlaces(kind, options) : []),
    ...more,
  ];
  const ordered = order.flatMap((origin) => found.filter((place) => place.origin === origin));
  return eachOnce(onlyFlags ? ordered.filter(({ origin }) => origin === "flag") : ordered);
}

/**
 * The places of the project alone, trusted or not; none in the user's home folder, for there they are the user's own.
 * Skills in `.agents` are those of each folder up to the repository's root, the nearest last.
 */
export function projectPlaces(
  kind: ResourceKind,
  { cwd, home, userHome }: Pick<ResourcePlacesOptions, "cwd" | "home" | "userHome">,
): ResourcePlace[] {
  if (realPath(cwd) === realPath(userHome)) return [];
  const users = new Set(
    [...userFolders[kind].map((name) => join(userHome, name)), join(home, kind)].map(realPath),
  );
  const above = kind === "skills" ? foldersAbove(cwd).map((folder) => join(folder, ".agents/skills")) : [];
  return [...above, ...projectFolders[kind].map((name) => join(cwd, name))]
    .filter((path) => !users.has(realPath(path)))
    .map((path) => ({ path, origin: "project" }));
}

/** The folders around this one up to the root of its repository, the outermost first; none outside of one. */
function foldersAbove(cwd: string): string[] {
  const above: string[] = [];
  for (let folder = resolve(cwd); !existsSync(join(folder, ".git")); ) {
    const parent = dirname(folder);
    if (parent === folder) return [];
    above.unshift(parent);
    folder = parent;
  }
  return above;
}

/** The folder in which other agents keep what is the user's. */
export function userHomeFolder(env: Readonly<Record<string, string | undefined>>): string {
  return env.HOME || homedir();
}

function eachOnce(places: readonly ResourcePlace[]): ResourcePlace[] {
  const last = new Map<string, ResourcePlace>();
  for (const place of places) {
    const real = realPath(place.path);
    last.delete(real);
    last.set(real, place);
  }
  return [...last.values()];
}

/** Of what is not there, the path itself. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
