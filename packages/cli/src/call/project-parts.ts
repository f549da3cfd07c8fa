import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { projectExtensions } from "./extension-choice.ts";
import type { Notice } from "./output.ts";
import { shownPath } from "./paths.ts";
import {
  projectPlaces,
  type ResourceKind,
  type ResourcePlacesOptions,
  resourceKinds,
} from "./resource-places.ts";
import { isProjectOf, projectFolder } from "./settings.ts";

/** What a project can bring, of which nothing is used before the user trusts it. */
export interface ProjectPart {
  kind: "settings" | "extensions" | "servers" | ResourceKind;
  /** Absolute: a file, or a folder that is not empty. */
  path: string;
}

export type ProjectPlace = Pick<ResourcePlacesOptions, "cwd" | "home" | "userHome">;

/** What the project in a folder brings that needs trust: the one table of it. Nothing for the user's home folder. */
export function projectParts(place: ProjectPlace): readonly ProjectPart[] {
  const { cwd, home } = place;
  const settings = join(projectFolder(cwd), "settings.json");
  const extensions = projectExtensions(cwd, home);
  const servers = projectServers(place);
  return [
    ...(isProjectOf(cwd, home) && existsSync(settings)
      ? [{ kind: "settings" as const, path: settings }]
      : []),
    ...(extensions === undefined ? [] : [{ kind: "extensions" as const, path: extensions }]),
    ...(servers === undefined ? [] : [{ kind: "servers" as const, path: servers }]),
    ...resourceKinds.flatMap((kind) => projectResources(kind, place)),
  ];
}

/** The file with the MCP servers of a project, where it has one. */
function projectServers({ cwd, userHome }: ProjectPlace): string | undefined {
  const file = join(cwd, ".mcp.json");
  return cwd !== userHome && existsSync(file) ? file : undefined;
}

function projectResources(kind: ResourceKind, place: ProjectPlace): ProjectPart[] {
  return projectPlaces(kind, place)
    .filter(({ path }) => isFilled(path))
    .map(({ path }) => ({ kind, path }));
}

function isFilled(path: string): boolean {
  try {
    return !statSync(path).isDirectory() || readdirSync(path).length > 0;
  } catch (error) {
    // One that may not be read brings something; whoever reads it says so.
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

/** The one notice that parts of a project are left aside; undefined where there are none. */
export function notTrustedNotice(parts: readonly ProjectPart[], cwd: string): Notice | undefined {
  if (parts.length === 0) return undefined;
  const names = parts.map(({ path }) => shownPath(path, cwd));
  const list = names.length === 1 ? names[0] : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  return {
    code: "project_not_trusted",
    message: `Ignored ${list}: this project is not trusted. Run \`bonsai trust\` to list and trust them.`,
  };
}
