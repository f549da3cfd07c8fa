import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { SettingsCall } from "./settings-call.ts";
import { isTrusted } from "./trust.ts";

/**
 * The settings file of the project in the working folder; undefined where there is none, and where its folder was
 * never trusted: then its user is told.
 */
export function projectSettingsFile({ io, output }: SettingsCall, home: string): string | undefined {
  const folder = workingFolder(io);
  if (folder === undefined) return undefined;
  const file = join(projectFolder(folder), "settings.json");
  if (!existsSync(file) || !isProjectOf(folder, home)) return undefined;
  if (isTrusted(folder, home)) return file;
  output.notify({
    code: "project_not_trusted",
    message: `The settings in ${file} are left aside: this project is not trusted. \`bonsai trust\` trusts it.`,
  });
  return undefined;
}

/** Where a project keeps its own settings and extensions. */
export function projectFolder(cwd: string): string {
  return join(cwd, ".bonsai");
}

/** In the user's home folder, the project's things would be the user's own. */
export function isProjectOf(cwd: string, home: string): boolean {
  const own = projectFolder(cwd);
  return existsSync(own) && !(existsSync(home) && realpathSync(own) === realpathSync(home));
}

/** Much works in a folder that is gone; it has no settings. */
function workingFolder(io: SettingsCall["io"]): string | undefined {
  try {
    return io.cwd;
  } catch {
    return undefined;
  }
}
