import { join } from "node:path";
import { importsOf } from "./imports.ts";
import { filesBelow, shown } from "./workspace.ts";

const FOLDERS = ["packages", "extensions", "scripts", "examples"];

/** Checks that no file imports itself through other files; imports of types and `import()` count too. */
export function checkCycles(root: string): string[] {
  const files = FOLDERS.flatMap((folder) => filesBelow(join(root, folder), [".ts", ".tsx", ".mjs"]));
  const own = files.filter((file) => !file.includes("/dist/"));
  const imports = new Map(own.map((file) => [file, importsOf(file).map(({ target }) => target)]));
  const cycles: string[][] = [];
  const left = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    if (left.has(file) || !imports.has(file)) return;
    const at = path.indexOf(file);
    if (at >= 0) {
      cycles.push([...path.slice(at), file]);
      return;
    }
    path.push(file);
    for (const target of imports.get(file)!) visit(target);
    path.pop();
    left.add(file);
  };
  for (const file of own) visit(file);
  return cycles.map((cycle) => `import cycle: ${cycle.map((file) => shown(root, file)).join(" > ")}`);
}
