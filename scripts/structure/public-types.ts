import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type Findings, filesBelow, type Package, readPackages, shown } from "./workspace.ts";

/** Checks that indexes name each export, and that no published declaration uses `any`. */
export function checkPublicTypes(root: string): Findings {
  const errors: string[] = [];
  for (const pkg of readPackages(root).filter((each) => each.directory !== "cli")) {
    for (const entry of entriesOf(pkg)) {
      if (!existsSync(entry)) errors.push(`${pkg.directory} has no ${relative(pkg.folder, entry)}`);
      else if (/export\s*\*/.test(readFileSync(entry, "utf8")))
        errors.push(`${shown(root, entry)} uses export *`);
    }
    const declarations = filesBelow(join(pkg.folder, "dist"), [".d.ts"]);
    if (declarations.length === 0) errors.push(`${pkg.directory} has no built declarations. Run: pnpm build`);
    for (const file of declarations) errors.push(...anyIn(root, file));
  }
  return { errors, warnings: [] };
}

/** The sources named in `exports`, by default `src/index.ts`. */
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
      /\bany\b/.test(line) ? [`${shown(root, file)}:${index + 1} uses any: ${line.trim()}`] : [],
    );
}
