import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

export interface Import {
  file: string;
  /** A file, or the folder of another package. */
  target: string;
  isStatic: boolean;
}

/** The imports of a file in its own package and in other packages of the workspace. */
export function importsOf(file: string, folders: ReadonlyMap<string, string> = new Map()): Import[] {
  const pattern = /(?:^|[\s;}([,])(?:from|import)\s*(\(?)\s*["']([^"']+)["']/g;
  return [...readFileSync(file, "utf8").matchAll(pattern)].flatMap(([, bracket, name = ""]) => {
    const target = name.startsWith(".")
      ? fileURLToPath(new URL(name, pathToFileURL(file)))
      : folders.get(name.split("/").slice(0, 2).join("/"));
    return target === undefined ? [] : [{ file, target, isStatic: bracket === "" }];
  });
}
