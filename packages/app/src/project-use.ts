import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { projectExtensions } from "./extension-choice.ts";
import { readJsonFile } from "./json-file.ts";
import { shownPath } from "./paths.ts";
import { isProjectOf, projectFolder, USERS_OWN, wholePath } from "./settings.ts";

/** What of a project is used once it is trusted. */
export interface ProjectUse {
  /** Its settings, and the modules that run: its own, then those that its settings name. Absolute. */
  used: readonly string[];
  /** What cannot be used, and why. */
  missing: readonly { path: string; message: string }[];
  /** What else its settings set, each value as JSON. */
  settings: readonly { name: string; value: string }[];
}

export async function projectUse(cwd: string, home: string): Promise<ProjectUse> {
  const file = join(projectFolder(cwd), "settings.json");
  const hasSettings = existsSync(file) && isProjectOf(cwd, home);
  const { settings, problem } = hasSettings ? settingsIn(file) : { settings: {} };
  const named = namedExtensions(settings, dirname(file));
  const found = await modules({ cwd, home, named });
  return {
    used: [...(hasSettings ? [file] : []), ...found.used],
    missing: [...(problem === undefined ? [] : [{ path: file, message: problem }]), ...found.missing],
    settings: leaves(settings).filter(({ name }) => !notSet.has(name.split(".", 1)[0]!)),
  };
}

/** What is listed elsewhere, and what a project's settings set nothing by. */
const notSet: ReadonlySet<string> = new Set(["extensions", "$schema", ...USERS_OWN]);

/** True for a project that brings nothing. */
export function isNothing({ used, missing }: ProjectUse): boolean {
  return used.length + missing.length === 0;
}

/** In lines, without marks: what is used, what of it is missing, what is set. */
export function projectUseLines({ used, missing, settings }: ProjectUse, cwd: string): string[] {
  return [
    ...used.map((path) => shownPath(path, cwd)),
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
      : { settings: {}, problem: "It is no JSON object." };
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

interface Looked {
  cwd: string;
  home: string;
  named: readonly string[];
}

async function modules({ cwd, home, named }: Looked): Promise<Pick<ProjectUse, "used" | "missing">> {
  const own = projectExtensions(cwd, home);
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
