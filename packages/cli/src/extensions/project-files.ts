import { existsSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "../project-settings.ts";
import { projectExtensions } from "./extension-choice.ts";

/** What of a project is used once it is trusted, in load order: its settings, and the modules that run. */
export async function projectFiles(cwd: string, home: string): Promise<readonly string[]> {
  const settings = join(projectFolder(cwd), "settings.json");
  return [...(existsSync(settings) ? [settings] : []), ...(await modules(cwd, home))];
}

async function modules(cwd: string, home: string): Promise<readonly string[]> {
  if (projectExtensions(cwd, home) === undefined) return [];
  const { findExtensions } = await import("@bonsai-agent/extension");
  const { extensions } = findExtensions({ home, cwd, isProjectTrusted: true });
  return extensions.filter(({ origin }) => origin === "project").map(({ path }) => path);
}
