import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type Findings, filesBelow, type Package, readPackages, shown } from "./workspace.ts";

/** Exports are named one by one, and no declaration that users compile against says `any`. */
export function checkPublicTypes(root: string): Findings {
  const errors: string[] = [];
  for (const pkg of readPackages(root).filter((each) => each.directory !== "cli")) {
    for (const entry of entriesOf(pkg)) {
      if (!existsSync(entry)) errors.push(`${pkg.directory} has no ${relative(pkg.folder, entry)}`);
      else if (/export\s*\*/.test(readFileSync(entry, "utf8")))
        errors.push(`${shown(root, entry)} exports *`);
    }
    const declarations = filesBelow(join(pkg.folder, "dist"), [".d.ts"]);
    if (declarations.length === 0) errors.push(`${pkg.directory} has no built declarations: build first`);
    for (const file of declarations) errors.push(...anyIn(root, file));
  }
  return { errors, warnings: [] };
}

/** What `exports` names; `src/index.ts` where it names nothing. */
function entriesOf({ folder, manifest }: Package): string[] {
  const named = Object.values(manifest.exports ?? {})
    .map((entry) => (typeof entry === "string" ? entry : entry["@bonsai-agent/source"]))
    .filter((path) => path?.endsWith(".ts"));
  return (named.length === 0 ? ["src/index.ts"] : named).map((path) => join(folder, path!));
}

function anyIn(root: string, file: string): string[] {
  const code = readFileSync(file, "utf8")
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, " "))
    .replace(/\/\/.*$/gm, "")
    .replace(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`/g, '""');
  return code
    .split("\n")
    .flatMap((line, index) =>
      /\bany\b/.test(line) ? [`${shown(root, file)}:${index + 1} says any: ${line.trim()}`] : [],
    );
}
