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

/** For each package, the packages that its source may import. */
type Arrows = Readonly<Record<string, readonly string[]>>;

/** All allowed imports between packages. An unused one is an error too. */
const ARROWS: Arrows = {
  messages: [],
  lifecycle: [],
  session: ["messages"],
  models: ["messages"],
  compaction: ["session", "lifecycle", "messages"],
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

/** Packages that must be loaded with `import()`, to keep the start of the other modes fast. */
const LAZY: Readonly<Record<string, readonly string[]>> = { cli: ["interactive"] };

/**
 * Folders and files of a package's source, from the bottom up. Each imports only itself and earlier ones. Packages that are
 * not listed have no order.
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

/** Checks that imports only go down, use public exports, and match the declared dependencies. */
export function checkLayers(root: string, arrows: Arrows = ARROWS): Findings {
  const packages = readPackages(root);
  const gone = Object.keys(arrows).filter((row) => packages.every(({ directory }) => directory !== row));
  const errors = [
    ...gone.map((row) => `ARROWS in layers.ts has a row for packages/${row}, which does not exist`),
    ...packages.flatMap((pkg) => [
      ...checkPackage({ root, pkg, packages, allowed: arrows[pkg.directory] }),
      ...checkFolders(root, pkg),
      ...checkBrowser(root, pkg),
    ]),
  ];
  return { errors, warnings: [] };
}

/** Source files that a package's browser program may import. They import only each other. */
const SHARED_WITH_BROWSER: Readonly<Record<string, readonly string[]>> = {
  page: ["page-data.ts", "view.ts", "compare.ts", "columns.ts"],
};

/** Modules of other packages that need nothing of Node. They import only each other. */
const BROWSER_MODULES: ReadonlySet<string> = new Set([
  "@bonsai-agent/messages/line-text",
  "@bonsai-agent/messages/numbers",
]);

/** Checks that a browser program imports nothing that needs Node. */
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
      return isBelow || isLibrary || BROWSER_MODULES.has(name)
        ? []
        : [`${shown(root, file)} imports ${name}, which does not run in a browser`];
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
  if (allowed === undefined) return [`packages/${pkg.directory} has no row in ARROWS in layers.ts`];
  const declared = {
    ...pkg.manifest.dependencies,
    ...(pkg.directory === "cli" ? pkg.manifest.devDependencies : {}),
  };
  const used = new Set<string>();
  const errors = filesBelow(`${pkg.folder}/src`, [".ts"]).flatMap((file) => {
    const source = readFileSync(file, "utf8");
    return importsOf(source).flatMap((name) => {
      const target = packages.find((other) => name === other.name || name.startsWith(`${other.name}/`));
      // A package may import its own name: extensions import it by that name.
      if (target === undefined || target === pkg) return relativeOut(root, pkg, file, name);
      used.add(target.directory);
      if (!allowed.includes(target.directory))
        return [`${shown(root, file)} imports ${name}, which ${pkg.directory} must not import`];
      if (LAZY[pkg.directory]?.includes(target.directory) && staticImportsOf(source).includes(name))
        return [`${shown(root, file)} imports ${name} at every start. Load it with import().`];
      if (declared[target.name] === undefined)
        return [`${pkg.directory}/package.json does not declare ${target.name}`];
      if (/\/(src|dist)\//.test(name))
        return [`${shown(root, file)} imports ${name}, which is not a public export`];
      return [];
    });
  });
  const unused = allowed.filter((target) => !used.has(target));
  return [
    ...errors,
    ...unused.map((target) => `${pkg.directory} never imports ${target}: remove it from ARROWS in layers.ts`),
  ];
}

function relativeOut(root: string, pkg: Package, file: string, name: string): string[] {
  if (!name.startsWith("..")) return [];
  const target = new URL(name, `file://${file}`).pathname;
  return target.startsWith(`${pkg.folder}/`)
    ? []
    : [`${shown(root, file)} imports ${name} from outside its package`];
}

/** Checks the order of the folders in a package. */
function checkFolders(root: string, pkg: Package): string[] {
  const order = FOLDERS[pkg.directory];
  if (order === undefined) return [];
  const source = `${pkg.folder}/src`;
  const partOf = (path: string) => path.slice(source.length + 1).split("/")[0]!;
  return filesBelow(source, [".ts"]).flatMap((file) => {
    const from = order.indexOf(partOf(file));
    if (from === -1) return [`${shown(root, file)} has no place in FOLDERS in layers.ts`];
    return importsOf(readFileSync(file, "utf8"))
      .filter((name) => name.startsWith("."))
      .map((name) => partOf(fileURLToPath(new URL(name, pathToFileURL(file)))))
      .filter((part) => order.indexOf(part) > from)
      .map((part) => `${shown(root, file)} imports ${part}, which is above it`);
  });
}
