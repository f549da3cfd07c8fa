import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { AgentSettings } from "@bonsai-agent/agent";
import { isProjectOf, projectFolder, type SettingsCall } from "./settings.ts";
import { isProjectTrusted } from "./trust.ts";

/** Which extensions a call asks for. */
export interface ExtensionChoice {
  home: string;
  cwd: string;
  /** False where the project has nothing that trust would be needed for. */
  isProjectTrusted: boolean;
  /** Absolute. */
  settingsPaths: readonly string[];
  /** As `-e` names them. */
  flagPaths: readonly string[];
  /** `--no-extensions`: only what `-e` names. */
  onlyFlags: boolean;
}

/** The extensions that flags, settings and folders bring; a project that was never trusted brings none, with a notice. */
export function extensionChoice(
  call: SettingsCall,
  { home, settings }: { home: string; settings: Pick<AgentSettings, "extensions"> },
): ExtensionChoice {
  const { io, options, output } = call;
  const { cwd } = io;
  const onlyFlags = options.extensions === false;
  const own = projectExtensions(cwd, home);
  const isTrusted = own !== undefined && isProjectTrusted(call, home);
  if (own !== undefined && !isTrusted && !onlyFlags) {
    output.notify({
      code: "project_not_trusted",
      message: `Ignored the extensions in ${own}: this project is not trusted. Run \`bonsai trust\` to list and trust them.`,
    });
  }
  const flagPaths = (options.extension ?? []) as readonly string[];
  return { home, cwd, isProjectTrusted: isTrusted, settingsPaths: settings.extensions, flagPaths, onlyFlags };
}

/** False where nothing can be found: then nothing that runs extensions has to be loaded, for starting is to be quick. */
export function mayHaveExtensions(choice: ExtensionChoice): boolean {
  const { home, cwd, isProjectTrusted, settingsPaths, flagPaths, onlyFlags } = choice;
  if (flagPaths.length > 0) return true;
  if (onlyFlags) return false;
  if (settingsPaths.length > 0) return true;
  return (
    isFilled(join(home, "extensions")) ||
    isFilled(join(home, "packages")) ||
    (isProjectTrusted && projectExtensions(cwd, home) !== undefined)
  );
}

/** True where `-e` names the path. */
export function isNamedByFlag({ cwd, flagPaths }: ExtensionChoice, path: string): boolean {
  return flagPaths.some((named) => {
    const whole = resolve(cwd, named);
    return path === named || path === whole || path.startsWith(join(whole, "/"));
  });
}

/** The folder with the project's own extensions, where it has any. */
export function projectExtensions(cwd: string, home: string): string | undefined {
  const folder = join(projectFolder(cwd), "extensions");
  return isProjectOf(cwd, home) && isFilled(folder) ? folder : undefined;
}

function isFilled(folder: string): boolean {
  try {
    return existsSync(folder) && readdirSync(folder).length > 0;
  } catch {
    // A file of that name, or a folder that may not be read: whoever looks for extensions there throws the error.
    return true;
  }
}
