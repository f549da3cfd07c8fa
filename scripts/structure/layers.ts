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
/** The order of the folders in packages, and imports against it. */
interface FolderOrder {
  folders: Readonly<Record<string, readonly (string | Siblings)[]>>;
  upward: Readonly<Record<string, readonly string[]>>;
}
/** Folders that do not import each other. */
type Siblings = readonly string[];

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
  cli: [
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
    "pi-adapter",
  ],
  testkit: ["messages", "session"],
};

/** Folders that the rest of their package must load with `import()`, to keep the start of the other modes fast. */
const LAZY: ReadonlySet<string> = new Set(["cli/interactive"]);

/**
 * Folders and files of a package's source, from the bottom up. Each imports only itself and earlier ones. A row
 * without a file is an error. Packages that are not listed have no order. A folder of a package has its own list under
 * "package/folder".
 */
const FOLDERS: FolderOrder["folders"] = {
  messages: [
    ...["error.ts", "message.ts", "schemas.ts", "text", "abort.ts", "usage.ts", "count"],
    ...["image-file.ts", "settings-problem.ts", "host.ts", "index.ts"],
  ],
  session: [
    ...["entry.ts", "own-entries.ts", "message-line.ts", "edited-content.ts", "entry-types.ts"],
    ...["projection.ts", "usage-counter.ts", "store", "read", "doctor", "notices.ts"],
    ...["continued-copy.ts", "session.ts", "hidden.ts", "session-summary.ts", "fork.ts"],
    ...["open-session.ts", "session-list.ts", "search", "host.ts", "index.ts"],
  ],
  compaction: [
    ...["details.ts", "record", "summariser.ts", "settings.ts", "plan", "carry", "events.ts", "ladder"],
    ...["flow", "branch", "host.ts", "index.ts"],
  ],
  models: [
    ...["call-arguments.ts", "file-lock.ts", "json-file.ts", "model.ts", "model-request.ts"],
    ...["thinking-tags.ts", "answer-builder.ts", "provider.ts", "failure", "repair", "wire"],
    ...["openai", "anthropic", "thinking.ts", "scripted", "catalogue", "keys", "exchange"],
    ...["login.ts", "model-client.ts", "host.ts", "index.ts"],
  ],
  agent: [
    ...["notice.ts", "settings.ts", "tools", "resources", "prompt", "recall", "events.ts"],
    ...["lifecycle.ts", "run", "listing", "task-tool.ts", "agent.ts", "open-agent.ts"],
    ...["host.ts", "index.ts"],
  ],
  transcripts: [
    ...["markdown", "import", "entries.ts", "claude-code", "codex", "google", "opencode"],
    ...["formats.ts", "import-transcript.ts", "export-markdown.ts", "index.ts"],
  ],
  cli: [
    ...["version.ts", "views", "call", "packages", "demo", ["commands", "print", "rpc", "interactive"]],
    ...["grammar", "command-line", "run-agent.ts", "program.ts", "main.ts"],
  ],
  "cli/interactive": [
    ...["between-keys.ts", "error-text.ts", "no-model.ts", "terminal", "panels", "status"],
    ...["extension-views", "chat", "prompt", "interactive-context.ts", "tree", "slash", "session"],
    "interactive-mode.ts",
  ],
};

/**
 * Imports against the order of FOLDERS that remain, as "from > to": `from` is a folder or a file, `to` a folder or a file
 * directly in the source. A row that is not needed is an error.
 */
const UPWARD: FolderOrder["upward"] = {
  messages: ["message.ts > usage.ts"],
  session: ["store > read", "store > open-session.ts"],
};

/** Checks that imports only go down, use public exports, and match the declared dependencies. */
export function checkLayers(
  root: string,
  arrows: Arrows = ARROWS,
  order: FolderOrder = { folders: FOLDERS, upward: UPWARD },
): Findings {
  const packages = readPackages(root);
  const gone = Object.keys(arrows).filter((row) => packages.every(({ directory }) => directory !== row));
  const errors = [
    ...gone.map((row) => `ARROWS in layers.ts has a row for packages/${row}, which does not exist`),
    ...packages.flatMap((pkg) => [
      ...checkPackage({ root, pkg, packages, allowed: arrows[pkg.directory] }),
      ...Object.keys(order.folders)
        .filter((key) => key === pkg.directory || key.startsWith(`${pkg.directory}/`))
        .flatMap((key) => checkFolders(root, key, order)),
      ...checkLazy(root, pkg),
      ...checkBrowser(root, pkg),
    ]),
  ];
  return { errors, warnings: [] };
}

/** Source files that a package's browser program may import. They import only each other. */
const SHARED_WITH_BROWSER: Readonly<Record<string, readonly string[]>> = {
  page: ["page-data.ts", "paths.ts", "columns.ts"],
};

/** Modules of other packages that need nothing of Node. They import only each other. */
const BROWSER_MODULES: ReadonlySet<string> = new Set(["@bonsai-agent/messages/numbers"]);

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

/** Checks that lazy folders are loaded with `import()`. */
function checkLazy(root: string, { directory, folder }: Package): string[] {
  return filesBelow(join(folder, "src"), [".ts"]).flatMap((file) =>
    staticImportsOf(readFileSync(file, "utf8"))
      .filter((name) => name.startsWith("."))
      .map((name) => fileURLToPath(new URL(name, pathToFileURL(file))))
      .filter((target) => {
        const [lazy, from] = [target, file].map((path) => partBelow(join(folder, "src"), path));
        return lazy !== from && LAZY.has(`${directory}/${lazy}`);
      })
      .map(
        (target) =>
          `${shown(root, file)} imports ${shown(root, target)} at every start. Load it with import().`,
      ),
  );
}

/** The folder or file directly below `source` that contains a path. */
function partBelow(source: string, path: string): string {
  return path.slice(source.length + 1).split("/")[0]!;
}

/** Checks one list of FOLDERS. */
function checkFolders(root: string, key: string, { folders, upward }: FolderOrder): string[] {
  const [directory, ...inner] = key.split("/");
  const source = join(root, "packages", directory!, "src", ...inner);
  const order = folders[key]!;
  const places = new Map(order.flatMap((row, place) => [row].flat().map((part) => [part, place] as const)));
  const partOf = (path: string) => partBelow(source, path);
  const allowed = upward[key] ?? [];
  const used = new Set<string>();
  const files = filesBelow(source, [".ts"]);
  const errors = files.flatMap((file) => {
    const from = partOf(file);
    const place = places.get(from);
    if (place === undefined) return [`${shown(root, file)} has no place in FOLDERS in layers.ts`];
    return importsOf(readFileSync(file, "utf8"))
      .filter((name) => name.startsWith("."))
      .map((name) => fileURLToPath(new URL(name, pathToFileURL(file))))
      .filter((target) => target.startsWith(`${source}/`))
      .map(partOf)
      .filter((part) => part !== from && places.get(part)! >= place)
      .flatMap((part) => {
        const exceptions = [from, file.slice(source.length + 1)].map((path) => `${path} > ${part}`);
        const exception = exceptions.find((each) => allowed.includes(each));
        if (exception === undefined) {
          const where = places.get(part) === place ? "beside" : "above";
          return [`${shown(root, file)} imports ${part}, which is ${where} it`];
        }
        used.add(exception);
        return [];
      });
  });
  const gone = [...places.keys()].filter((part) => files.every((file) => partOf(file) !== part));
  const unused = allowed.filter((exception) => !used.has(exception));
  return [
    ...errors,
    ...gone.map((part) => `${key} has no src/${part}: remove "${part}" from FOLDERS in layers.ts`),
    ...unused.map((exception) => `${key} has no import ${exception}: remove it from UPWARD in layers.ts`),
  ];
}
