import { join } from "node:path";

/** What users keep as files beside their settings and extensions. */
export type ResourceKind = "skills" | "prompts" | "themes";

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

/** Where things of a kind are looked for, in order: what is found later stands over what has the same name. */
export function resourcePlaces(
  kind: ResourceKind,
  { home, userHome, cwd, isProjectTrusted }: ResourcePlacesOptions,
): ResourcePlace[] {
  const at = (origin: ResourceOrigin, folder: string, names: readonly string[]): ResourcePlace[] =>
    names.map((name) => ({ path: join(folder, name), origin }));
  return [
    ...at("user", userHome, userFolders[kind]),
    ...at("user", home, [kind]),
    ...(isProjectTrusted ? at("project", cwd, projectFolders[kind]) : []),
  ];
}
