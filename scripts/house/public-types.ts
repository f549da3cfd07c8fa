import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Findings, filesBelow, readPackages, shown } from "./workspace.ts";

/** Exports are named one by one, and no declaration that users compile against says `any`. */
export function checkPublicTypes(root: string): Findings {
  const errors: string[] = [];
  for (const pkg of readPackages(root).filter((each) => each.directory !== "cli")) {
    const index = join(pkg.folder, "src/index.ts");
    if (!existsSync(index)) errors.push(`${pkg.directory} has no src/index.ts`);
    else if (/export\s*\*/.test(readFileSync(index, "utf8"))) errors.push(`${shown(root, index)} exports *`);
    const declarations = filesBelow(join(pkg.folder, "dist"), [".d.ts"]);
    if (declarations.length === 0) errors.push(`${pkg.directory} has no built declarations: build first`);
    for (const file of declarations) errors.push(...anyIn(root, file));
  }
  return { errors, warnings: [] };
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
