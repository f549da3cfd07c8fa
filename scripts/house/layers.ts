import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  type Findings,
  filesBelow,
  importsOf,
  type Package,
  readPackages,
  shown,
  staticImportsOf,
} from "./workspace.ts";

/** By package, what its source may import of its neighbours. */
type Arrows = Readonly<Record<string, readonly string[]>>;

/** Every arrow there is, and no other: one that no import goes along is an error too. */
const ARROWS: Arrows = {
  messages: [],
  lifecycle: [],
  session: ["messages"],
  models: ["messages"],
  digest: ["messages"],
  compaction: ["digest", "session", "lifecycle", "messages"],
  agent: ["compaction", "session", "models", "lifecycle", "messages"],
  transcripts: ["session", "compaction", "messages"],
  lab: ["session", "compaction", "messages"],
  page: ["session", "compaction", "transcripts", "messages"],
  extension: ["agent", "lifecycle", "messages", "models", "session", "compaction"],
  "pi-adapter": ["extension", "agent", "lifecycle", "messages", "models", "session", "compaction"],
  app: [
    "messages",
    "lifecycle",
    "session",
    "models",
    "compaction",
    "agent",
    "transcripts",
    "page",
    "extension",
    "pi-adapter",
  ],
  interactive: [
    "app",
    "messages",
    "lifecycle",
    "session",
    "models",
    "compaction",
    "agent",
    "transcripts",
    "page",
    "extension",
  ],
  cli: [
    "interactive",
    "app",
    "messages",
    "lifecycle",
    "session",
    "models",
    "compaction",
    "agent",
    "transcripts",
    "page",
    "lab",
    "extension",
  ],
  testkit: ["messages", "session"],
};

/** Loaded with `import()` where it is needed: no start of the other modes waits for it. */
const LAZY: Readonly<Record<string, readonly string[]>> = { cli: ["interactive"] };

/**
 * Folders and files of a package's source from the bottom up: each imports itself and what stands before it. A package
 * that is not here has no such order.
 */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  interactive: [
    "between-keys.ts",
    "error-text.ts",
    "no-model.ts",
    "terminal",
    "panels",
    "status",
    "extension-views",
    "chat",
    "prompt",
    "interactive-context.ts",
    "tree",
    "slash",
    "session",
    "interactive-mode.ts",
    "index.ts",
  ],
};

/** Arrows run downwards only, imports name packages by their public exports, and every arrow is declared and used. */
export function checkLayers(root: string, arrows: Arrows = ARROWS): Findings {
  const packages = readPackages(root);
  const gone = Object.keys(arrows).filter((row) => packages.every(({ directory }) => directory !== row));
  const errors = [
    ...gone.map((row) => `the table of layers has a row for packages/${row}, which does not exist`),
    ...packages.flatMap((pkg) => [
      ...checkPackage({ root, pkg, packages, allowed: arrows[pkg.directory] }),
      ...checkFolders(root, pkg),
      ...checkBrowser(root, pkg),
    ]),
  ];
  return { errors, warnings: [] };
}

/** What of a package's source its program for a browser may import, and what imports nothing else in turn. */
const SHARED_WITH_BROWSER: Readonly<Record<string, readonly string[]>> = {
  page: ["page-data.ts", "view.ts", "compare.ts", "columns.ts"],
};

/** A program for a browser stands on libraries and on what is shared with it, and on nothing that needs Node. */
function checkBrowser(root: string, pkg: Package): string[] {
  const source = join(pkg.folder, "src");
  const shared = (SHARED_WITH_BROWSER[pkg.directory] ?? []).map((name) => join(source, name));
  const own = filesBelow(join(pkg.folder, "browser"), [".ts", ".tsx"]);
  return [...own, ...shared].flatMap((file) =>
    importsOf(readFileSync(file, "utf8")).flatMap((name) => {
      const isShared = shared.includes(file);
      const target = fileURLToPath(new URL(name, pathToFileURL(file)));
      const isBelow =
        name.startsWith(".") && (shared.includes(target) || (!isShared && !target.startsWith(source)));
      const isLibrary = !name.startsWith(".") && !isShared && !/^(?:node:|@bonsai-agent\/)/.test(name);
      return isBelow || isLibrary ? [] : [`${shown(root, file)} imports ${name}, which no browser has`];
    }),
  );
}

interface Checked {
  root: string;
  pkg: Package;
  packages: readonly Package[];
  allowed: readonly string[] | undefined;
}

function checkPackage({ root, pkg, packages, allowed }: Checked): string[] {
  if (allowed === undefined) return [`packages/${pkg.directory} has no row in the table of layers`];
  const declared = {
    ...pkg.manifest.dependencies,
    ...(pkg.directory === "cli" ? pkg.manifest.devDependencies : {}),
  };
  const used = new Set<string>();
  const errors = filesBelow(`${pkg.folder}/src`, [".ts"]).flatMap((file) => {
    const source = readFileSync(file, "utf8");
    return importsOf(source).flatMap((name) => {
      const target = packages.find((other) => name === other.name || name.startsWith(`${other.name}/`));
      // Its own name too: what it gives to extensions, by the name that they import.
      if (target === undefined || target === pkg) return relativeOut(root, pkg, file, name);
      used.add(target.directory);
      if (!allowed.includes(target.directory))
        return [`${shown(root, file)} imports ${name}: ${pkg.directory} may not`];
      if (LAZY[pkg.directory]?.includes(target.directory) && staticImportsOf(source).includes(name))
        return [`${shown(root, file)} imports ${name} at each start: it is for import()`];
      if (declared[target.name] === undefined)
        return [`${pkg.directory}/package.json does not declare ${target.name}`];
      if (/\/(src|dist)\//.test(name))
        return [`${shown(root, file)} imports ${name}, past its public exports`];
      return [];
    });
  });
  const unused = allowed.filter((target) => !used.has(target));
  return [...errors, ...unused.map((target) => `${pkg.directory} may import ${target}, and does not`)];
}

function relativeOut(root: string, pkg: Package, file: string, name: string): string[] {
  if (!name.startsWith("..")) return [];
  const target = new URL(name, `file://${file}`).pathname;
  return target.startsWith(`${pkg.folder}/`)
    ? []
    : [`${shown(root, file)} imports ${name}, out of its package`];
}

/** Within a package, arrows run one way too. */
function checkFolders(root: string, pkg: Package): string[] {
  const order = FOLDERS[pkg.directory];
  if (order === undefined) return [];
  const source = `${pkg.folder}/src`;
  const partOf = (path: string) => path.slice(source.length + 1).split("/")[0]!;
  return filesBelow(source, [".ts"]).flatMap((file) => {
    const from = order.indexOf(partOf(file));
    if (from === -1) return [`${shown(root, file)} has no place in the order of ${pkg.directory}'s folders`];
    return importsOf(readFileSync(file, "utf8"))
      .filter((name) => name.startsWith("."))
      .map((name) => partOf(fileURLToPath(new URL(name, pathToFileURL(file)))))
      .filter((part) => order.indexOf(part) > from)
      .map((part) => `${shown(root, file)} imports ${part}, which stands above it`);
  });
}
