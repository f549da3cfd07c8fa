import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** The full path of a program on the PATH. Its relative folders could lie in the project, whose programs nobody asked for. */
export function programPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const folders = (env.PATH ?? env.Path ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** bash, or sh where there is none. Throws a sentence when neither is there. */
export function findShell(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string {
  if (platform === "win32") return gitBash(env);
  const found = ["/bin/bash", "/usr/bin/bash"].find(isProgram) ?? programPath("bash", env);
  const shell = found ?? ["/bin/sh"].find(isProgram) ?? programPath("sh", env);
  if (shell === undefined)
    throw new Error("Neither bash nor sh was found. Install one, or put it on the PATH.");
  return shell;
}

function gitBash(env: NodeJS.ProcessEnv): string {
  const folders = [
    env.ProgramFiles,
    env["ProgramFiles(x86)"],
    env.LOCALAPPDATA && join(env.LOCALAPPDATA, "Programs"),
  ];
  const installed = folders.flatMap((folder) => (folder ? [join(folder, "Git", "bin", "bash.exe")] : []));
  const onPath = programPath("bash.exe", env);
  // The one in System32 starts Linux, which sees another file system.
  const usable = onPath !== undefined && /\\system32\\/i.test(onPath) ? undefined : onPath;
  const shell = installed.find(isProgram) ?? usable;
  if (shell === undefined)
    throw new Error("bash was not found. On Windows, install Git for Windows, which brings it.");
  return shell;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
