import { readFileSync } from "node:fs";
import { type Findings, filesBelow, importsOf, type Package, readPackages, shown } from "./workspace.ts";

/** What each package's source may import of its neighbours. An arrow that is not here does not exist. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  messages: [],
  lifecycle: [],
  session: ["messages"],
  models: ["messages"],
  compaction: ["session", "lifecycle", "messages"],
  agent: ["compaction", "session", "models", "lifecycle", "messages"],
  transcripts: ["session", "compaction", "messages"],
  extension: ["agent", "lifecycle", "messages", "models", "session", "compaction"],
  "pi-adapter": ["extension", "agent", "lifecycle", "messages", "models", "session", "compaction"],
  lab: ["compaction", "session", "models", "messages"],
  cli: [
    "messages",
    "lifecycle",
    "session",
    "models",
    "compaction",
    "agent",
    "transcripts",
    "extension",
    "pi-adapter",
    "lab",
  ],
  testkit: ["messages", "session"],
};

/** Arrows run downwards only, imports name packages by their public exports, and every arrow is declared. */
export function checkLayers(root: string): Findings {
  const packages = readPackages(root);
  const errors = packages.flatMap((pkg) => checkPackage(root, pkg, packages));
  return { errors, warnings: [] };
}

function checkPackage(root: string, pkg: Package, packages: Package[]): string[] {
  const allowed = ARROWS[pkg.directory];
  if (allowed === undefined) return [`packages/${pkg.directory} has no row in the table of layers`];
  const declared = {
    ...pkg.manifest.dependencies,
    ...(pkg.directory === "cli" ? pkg.manifest.devDependencies : {}),
  };
  return filesBelow(`${pkg.folder}/src`, [".ts"]).flatMap((file) =>
    importsOf(readFileSync(file, "utf8")).flatMap((name) => {
      const target = packages.find((other) => name === other.name || name.startsWith(`${other.name}/`));
      // Its own name too: what it gives to extensions, by the name that they import.
      if (target === undefined || target === pkg) return relativeOut(root, pkg, file, name);
      if (!allowed.includes(target.directory))
        return [`${shown(root, file)} imports ${name}: ${pkg.directory} may not`];
      if (declared[target.name] === undefined)
        return [`${pkg.directory}/package.json does not declare ${target.name}`];
      if (/\/(src|dist)\//.test(name))
        return [`${shown(root, file)} imports ${name}, past its public exports`];
      return [];
    }),
  );
}

function relativeOut(root: string, pkg: Package, file: string, name: string): string[] {
  if (!name.startsWith("..")) return [];
  const target = new URL(name, `file://${file}`).pathname;
  return target.startsWith(`${pkg.folder}/`)
    ? []
    : [`${shown(root, file)} imports ${name}, out of its package`];
}
