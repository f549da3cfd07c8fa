import { join, resolve } from "node:path";
import type { AgentSettings } from "@bonsai-agent/agent";
import type { Call } from "./invocation.ts";
import { isFilled, projectPart, projectPlace } from "./project.ts";
import { isProjectTrusted } from "./trust.ts";

export interface ExtensionChoice {
  home: string;
  cwd: string;
  /** False also for a project without extensions. */
  isProjectTrusted: boolean;
  /** Absolute. */
  settingsPaths: readonly string[];
  /** The values of `-e`. */
  flagPaths: readonly string[];
  /** `--no-extensions`: only those of `-e`. */
  onlyFlags: boolean;
}

export function extensionChoice(
  call: Call,
  { extensions }: Pick<AgentSettings, "extensions">,
): ExtensionChoice {
  const { io, options } = call;
  const place = projectPlace(call);
  return {
    home: place.home,
    cwd: io.cwd,
    isProjectTrusted: projectPart(place, "extensions") !== undefined && isProjectTrusted(call),
    settingsPaths: extensions,
    flagPaths: (options.extension ?? []) as readonly string[],
    onlyFlags: options.extensions === false,
  };
}

/** False if the call has no extension. For a quick start, the code that runs extensions is then not loaded. */
export function mayHaveExtensions(choice: ExtensionChoice): boolean {
  const { home, isProjectTrusted, settingsPaths, flagPaths, onlyFlags } = choice;
  if (flagPaths.length > 0) return true;
  if (onlyFlags) return false;
  const folders = [join(home, "extensions"), join(home, "packages")];
  return isProjectTrusted || settingsPaths.length > 0 || folders.some(isFilled);
}

export function isNamedByFlag({ cwd, flagPaths }: ExtensionChoice, path: string): boolean {
  return flagPaths.some((named) => {
    const absolute = resolve(cwd, named);
    return path === named || path === absolute || path.startsWith(join(absolute, "/"));
  });
}
