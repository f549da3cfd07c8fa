import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { bonsaiHome } from "@bonsai-agent/session";
import { oneLine } from "../views/terminal-text.ts";
import type { Call } from "./invocation.ts";
import { readJsonFile } from "./json-file.ts";
import { absolutePath, shownPath } from "./paths.ts";
import { projectPlaces, type ResourceKind, resourceKinds, userHomeFolder } from "./resource-places.ts";
import { leaves } from "./settings-file.ts";
import { isProjectTrusted } from "./trust.ts";

/** A file or a filled folder of a project that Bonsai uses only if the user trusts the project. */
interface ProjectPart {
  kind: "settings" | "extensions" | "servers" | ResourceKind;
  path: string;
}

export interface ProjectPlace {
  cwd: string;
  home: string;
  userHome: string;
}

export function projectPlace({ io }: Pick<Call, "io">): ProjectPlace {
  return { cwd: io.cwd, home: bonsaiHome(io.env), userHome: userHomeFolder(io.env) };
}

export function projectFolder(cwd: string): string {
  return join(cwd, ".bonsai");
}

/** False in the user's home folder: `.bonsai` is the user's own there. */
function hasProjectFolder(cwd: string, home: string): boolean {
  const own = projectFolder(cwd);
  return existsSync(own) && !isSame(own, home) && !isSame(cwd, homedir());
}

function isSame(folder: string, other: string): boolean {
  return existsSync(other) && realpathSync(folder) === realpathSync(other);
}

export function projectParts(place: ProjectPlace): readonly ProjectPart[] {
  const { cwd, userHome } = place;
  const own = (["settings", "extensions"] as const).flatMap((kind) => {
    const path = projectPart(place, kind);
    return path === undefined ? [] : [{ kind, path }];
  });
  const servers: ProjectPart[] = cwd === userHome ? [] : [{ kind: "servers", path: join(cwd, ".mcp.json") }];
  const resources = resourceKinds.flatMap((kind) =>
    projectPlaces(kind, place).map(({ path }) => ({ kind, path })),
  );
  return [...own, ...servers, ...resources].filter(({ path }) => isFilled(path));
}

/** True for a file, a folder that is not empty, and an unreadable path, which a later reader reports. */
export function isFilled(path: string): boolean {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found !== undefined && (!found.isDirectory() || readdirSync(path).length > 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

/** The path of the project's own settings or extensions; undefined if it has none. */
export function projectPart(
  { cwd, home }: Omit<ProjectPlace, "userHome">,
  kind: "settings" | "extensions",
): string | undefined {
  const path = join(projectFolder(cwd), kind === "settings" ? "settings.json" : "extensions");
  return hasProjectFolder(cwd, home) && isFilled(path) ? path : undefined;
}

/**
 * The one notice about ignored parts of an untrusted project. It names the parts that the flags do not switch off.
 * @param kinds no notice if the project has none of them. Default: all
 */
export function notifyUntrusted(call: Call, kinds?: readonly ProjectPart["kind"][]): void {
  const { extensions, skills, promptTemplates: prompts, themes } = call.options;
  const switches: Readonly<Record<string, unknown>> = {
    ...{ extensions, servers: extensions },
    ...{ skills, prompts, themes },
  };
  const parts = projectParts(projectPlace(call)).filter(({ kind }) => switches[kind] !== false);
  const isUsed = parts.some(({ kind }) => kinds === undefined || kinds.includes(kind));
  if (!isUsed || isProjectTrusted(call)) return;
  const names = parts.map(({ path }) => shownPath(path, call.io.cwd));
  const list = names.length === 1 ? names[0] : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  call.output.notify({
    code: "project_not_trusted",
    message: `Ignored ${list}: this project is not trusted. Run \`bonsai trust\` to list and trust them.`,
  });
}

/** The parts of a project that Bonsai uses once the project is trusted. */
export interface ProjectUse {
  /** Absolute: settings, extension modules, the file of MCP servers, and folders of skills, prompts and themes. */
  used: readonly string[];
  /** Unusable paths, with reasons. */
  missing: readonly { path: string; message: string }[];
  /** Other settings, each value as JSON. */
  settings: readonly { name: string; value: string }[];
  /** MCP servers with their command lines or addresses. */
  servers: readonly { name: string; starts: string }[];
}

export async function projectUse(place: ProjectPlace): Promise<ProjectUse> {
  const parts = projectParts(place);
  const pathsOf = (...kinds: readonly ProjectPart["kind"][]) =>
    parts.filter(({ kind }) => kinds.includes(kind)).map(({ path }) => path);
  const settings = readObject(pathsOf("settings")[0]);
  const servers = readObject(pathsOf("servers")[0]);
  const modules = await projectModules(place, settings.value.extensions);
  const { mcpServers } = servers.value;
  return {
    used: [...pathsOf("settings"), ...modules.used, ...pathsOf("servers", ...resourceKinds)],
    missing: [...settings.problems, ...servers.problems, ...modules.missing],
    settings: leaves(settings.value)
      .filter(([name]) => !UNLISTED_KEYS.has(name.split(".", 1)[0]!))
      .map(([name, value]) => ({ name, value: JSON.stringify(value) })),
    servers: Object.entries(isRecord(mcpServers) ? mcpServers : {}).map(([name, server]) => ({
      name,
      starts: commandOf(server),
    })),
  };
}

/** A project must not choose the user's editor, the paths outside the project and the store of the sessions. */
export const USER_ONLY_KEYS: readonly string[] = ["paths", "editor", "sessions"];

const UNLISTED_KEYS: ReadonlySet<string> = new Set(["extensions", "$schema", ...USER_ONLY_KEYS]);

export function isNothing({ used, missing }: ProjectUse): boolean {
  return used.length + missing.length === 0;
}

export function projectUseLines({ used, missing, settings, servers }: ProjectUse, cwd: string): string[] {
  return [
    ...used.map((path) => shownPath(path, cwd)),
    ...servers.map(({ name, starts }) => oneLine(`server ${name}: ${starts}`)),
    ...missing.map(({ path, message }) => `✗ ${shownPath(path, cwd)}: ${message}`),
    ...settings.map(({ name, value }) => `sets ${name}: ${value}`),
  ];
}

/** Lenient: the later use of a file reports all its problems. */
function readObject(path: string | undefined): {
  value: Readonly<Record<string, unknown>>;
  problems: ProjectUse["missing"];
} {
  if (path === undefined) return { value: {}, problems: [] };
  try {
    const value = readJsonFile(path);
    if (isRecord(value)) return { value, problems: [] };
    return { value: {}, problems: [{ path, message: "It is not a JSON object." }] };
  } catch (error) {
    const message = BonsaiError.is(error) ? error.message : String(error);
    return { value: {}, problems: [{ path, message }] };
  }
}

function commandOf(server: unknown): string {
  const { command, args, url } = isRecord(server) ? server : {};
  if (typeof command !== "string") return typeof url === "string" ? url : "?";
  return [command, ...(Array.isArray(args) ? args : [])].map(String).join(" ");
}

/** Finds the modules in the project's folder and those that its settings name. */
async function projectModules(
  place: ProjectPlace,
  inSettings: unknown,
): Promise<Pick<ProjectUse, "used" | "missing">> {
  const { cwd, home } = place;
  const own = projectPart(place, "extensions");
  const flagPaths = (Array.isArray(inSettings) ? inSettings : [])
    .filter((path): path is string => typeof path === "string")
    .map((path) => settingPath(path, projectFolder(cwd)));
  if (own === undefined && flagPaths.length === 0) return { used: [], missing: [] };
  const { findExtensions } = await import("@bonsai-agent/extension/host");
  const inFolder = findExtensions({ home, cwd, isProjectTrusted: own !== undefined });
  const named = findExtensions({ home, cwd, isProjectTrusted: false, flagPaths, onlyFlags: true });
  const found = [...inFolder.extensions.filter(({ origin }) => origin === "project"), ...named.extensions];
  const problems = inFolder.problems.filter(({ path }) => own !== undefined && path.startsWith(own));
  return {
    used: [...new Set(found.map(({ path }) => path))],
    missing: [...problems, ...named.problems].map(({ path, message }) => ({ path, message })),
  };
}

/** A path in a settings file, from the folder of the file. A package of npm is no path: its finder has the remedy. */
export function settingPath(path: string, folder: string): string {
  return path.startsWith("npm:") ? path : absolutePath(path, folder);
}
