import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { oneLine } from "../views/terminal-text.ts";
import { readJsonFile } from "./json-file.ts";
import { shownPath } from "./paths.ts";
import { type ProjectPart, type ProjectPlace, projectParts } from "./project-parts.ts";
import { resourceKinds } from "./resource-places.ts";
import { projectFolder, USERS_OWN, wholePath } from "./settings.ts";

/** What of a project is used once it is trusted. */
export interface ProjectUse {
  /**
   * Absolute: its settings, the modules that run (its own, then those that its settings name), the file of its MCP
   * servers, its folders of skills, prompts and themes.
   */
  used: readonly string[];
  /** What cannot be used, and why. */
  missing: readonly { path: string; message: string }[];
  /** What else its settings set, each value as JSON. */
  settings: readonly { name: string; value: string }[];
  /** Its MCP servers: programs that are started, or addresses that are asked. */
  servers: readonly { name: string; starts: string }[];
}

export async function projectUse(place: ProjectPlace): Promise<ProjectUse> {
  const { cwd, home } = place;
  const parts = projectParts(place);
  const pathsOf = (...kinds: readonly ProjectPart["kind"][]) =>
    parts.filter(({ kind }) => kinds.includes(kind)).map(({ path }) => path);
  const [file] = pathsOf("settings");
  const { settings, problem } = file === undefined ? { settings: {} } : settingsIn(file);
  const named = namedExtensions(settings, projectFolder(cwd));
  const found = await modules({ cwd, home, named, own: pathsOf("extensions")[0] });
  const [serverFile] = pathsOf("servers");
  const servers = serverFile === undefined ? { servers: [] } : serversIn(serverFile);
  const problems = [
    { path: file, message: problem },
    { path: serverFile, message: servers.problem },
  ];
  return {
    used: [...pathsOf("settings"), ...found.used, ...pathsOf("servers", ...resourceKinds)],
    missing: [...problems.filter(isProblem), ...found.missing],
    settings: leaves(settings).filter(({ name }) => !notSet.has(name.split(".", 1)[0]!)),
    servers: servers.servers,
  };
}

function isProblem(given: { path?: string | undefined; message?: string | undefined }): given is {
  path: string;
  message: string;
} {
  return given.path !== undefined && given.message !== undefined;
}

/** What is listed elsewhere, and what a project's settings set nothing by. */
const notSet: ReadonlySet<string> = new Set(["extensions", "$schema", ...USERS_OWN]);

/** True for a project that brings nothing. */
export function isNothing({ used, missing }: ProjectUse): boolean {
  return used.length + missing.length === 0;
}

/** In lines, without marks: what is used, what of it is missing, what is set. */
export function projectUseLines({ used, missing, settings, servers }: ProjectUse, cwd: string): string[] {
  return [
    ...used.map((path) => shownPath(path, cwd)),
    ...servers.map(({ name, starts }) => oneLine(`server ${name}: ${starts}`)),
    ...missing.map(({ path, message }) => `✗ ${shownPath(path, cwd)}: ${message}`),
    ...settings.map(({ name, value }) => `sets ${name}: ${value}`),
  ];
}

/** Settings that cannot be used stop the work later, with the reason; here they are only named. */
function settingsIn(file: string): { settings: object; problem?: string } {
  try {
    const value = readJsonFile(file);
    return typeof value === "object" && value !== null
      ? { settings: value }
      : { settings: {}, problem: "It is not a JSON object." };
  } catch (error) {
    return { settings: {}, problem: BonsaiError.is(error) ? error.message : String(error) };
  }
}

function namedExtensions(settings: object, folder: string): readonly string[] {
  const { extensions } = settings as { extensions?: unknown };
  const paths = Array.isArray(extensions) ? extensions : [];
  return paths
    .filter((path): path is string => typeof path === "string")
    .map((path) => wholePath(path, folder));
}

/** Lenient: whoever starts them reads the file closely. */
function serversIn(file: string): { servers: ProjectUse["servers"]; problem?: string } {
  const { settings, problem } = settingsIn(file);
  const { mcpServers } = settings as { mcpServers?: unknown };
  const servers = isRecord(mcpServers) ? Object.entries(mcpServers) : [];
  return {
    servers: servers.map(([name, server]) => ({ name, starts: startOf(server) })),
    ...(problem !== undefined && { problem }),
  };
}

function startOf(server: unknown): string {
  const { command, args, url } = isRecord(server) ? server : {};
  if (typeof command !== "string") return typeof url === "string" ? url : "?";
  return [command, ...(Array.isArray(args) ? args : [])].map(String).join(" ");
}

interface Looked {
  cwd: string;
  home: string;
  named: readonly string[];
  /** The project's folder of extensions. */
  own: string | undefined;
}

async function modules({ cwd, home, named, own }: Looked): Promise<Pick<ProjectUse, "used" | "missing">> {
  if (own === undefined && named.length === 0) return { used: [], missing: [] };
  const { findExtensions } = await import("@bonsai-agent/extension/host");
  const inFolder = findExtensions({ home, cwd, isProjectTrusted: own !== undefined });
  const bySettings = findExtensions({
    home,
    cwd,
    isProjectTrusted: false,
    flagPaths: named,
    onlyFlags: true,
  });
  const ownModules = inFolder.extensions.filter(({ origin }) => origin === "project");
  const ownProblems = inFolder.problems.filter(({ path }) => own !== undefined && path.startsWith(own));
  const used = [...ownModules, ...bySettings.extensions].map(({ path }) => path);
  const missing = [...ownProblems, ...bySettings.problems].map(({ path, message }) => ({ path, message }));
  return { used: [...new Set(used)], missing };
}

function leaves(value: object, before = ""): { name: string; value: string }[] {
  return Object.entries(value).flatMap(([key, inner]) => {
    const name = `${before}${key}`;
    return isRecord(inner) ? leaves(inner, `${name}.`) : [{ name, value: JSON.stringify(inner) }];
  });
}
