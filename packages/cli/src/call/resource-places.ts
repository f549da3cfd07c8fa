import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { realPath } from "./paths.ts";

export type ResourceKind = "skills" | "prompts" | "themes";

export const resourceKinds: readonly ResourceKind[] = ["skills", "prompts", "themes"];

export type ResourceOrigin = "package" | "user" | "project" | "settings" | "extension" | "flag";

/** A file, or a folder to search. It need not exist. */
export interface ResourcePlace {
  /** Absolute. */
  path: string;
  origin: ResourceOrigin;
  from?: string;
}

export interface ResourcePlacesOptions {
  home: string;
  userHome: string;
  cwd: string;
  /** False skips the project's own. */
  isProjectTrusted: boolean;
  /** Paths of packages, extensions, settings and flags. Default: none. */
  more?: readonly ResourcePlace[];
  /** Uses only paths of flags. Default: false. */
  onlyFlags?: boolean;
}

/** Folders in the user's home. Later ones win, and Bonsai's own are last. */
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

/** Later origins win. */
const order: readonly ResourceOrigin[] = ["package", "user", "project", "settings", "extension", "flag"];

/** The places of a kind; later ones win. A place with two names, such as a link, counts once. */
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
 * The project's own places; none in the user's home folder. Skills in `.agents` can be in each folder up to the
 * repository's root.
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

/** The folders above up to the repository's root, outermost first. */
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
