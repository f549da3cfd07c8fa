import { join } from "node:path";
import { type Import, importsOf } from "./imports.ts";
import { filesBelow, readPackages, shown } from "./workspace.ts";

/** Folders that do not import each other. */
type Siblings = readonly string[];
type Order = Readonly<Record<string, readonly (string | Siblings)[]>>;

/**
 * The parts of a folder, from the bottom up. Each imports only itself and earlier ones. A row without a file is an error.
 * Biome compares the imports of a package with the dependencies in its package.json.
 */
const ORDER: Order = {
  packages: [
    ...[
      ["messages", "lifecycle", "postgres-server"],
      ["session", "models"],
      ["compaction", "testkit", "postgres"],
    ],
    ...[["agent", "transcripts", "lab", "compact"], ["page", "extension"], "pi-adapter", "cli"],
  ],
  "packages/messages/src": [
    ...["error.ts", "message.ts", "schemas.ts", "text", "abort.ts", "usage.ts", "count"],
    ...["image-file.ts", "settings-problem.ts", "host.ts", "index.ts"],
  ],
  "packages/session/src": [
    ...[
      "entry.ts",
      "own-entries.ts",
      "provider-summary.ts",
      "message-line.ts",
      "edited-content.ts",
      "entry-types.ts",
    ],
    ...["projection.ts", "usage-counter.ts", "store", "read", "doctor", "notices.ts"],
    ...["continued-copy.ts", "session.ts", "hidden.ts", "hide.ts", "session-summary.ts", "fork.ts"],
    ...["missing-entries.ts", "open-session.ts", "session-list.ts", "search", "host.ts", "index.ts"],
  ],
  "packages/postgres/src": [
    ...["database.ts", "schema.ts", "refusals.ts", "segment.ts", "lines.ts", "lease.ts", "listing.ts"],
    ...["working-copy.ts", "leftovers.ts", "history-loader.ts", "history-worker.ts", "shipper.ts"],
    ...[
      "drafts.ts",
      "draft-work.ts",
      "shared-store.ts",
      "watch.ts",
      "shared-sessions.ts",
      ["index.ts", "jobs.ts"],
    ],
  ],
  "packages/compaction/src": [
    ...["details.ts", "record", "summariser.ts", "settings.ts", "plan", "carry", "events.ts", "ladder"],
    ...["flow", "branch", "host.ts", "index.ts"],
  ],
  "packages/compact/src": [
    ...["units.ts", "formats.ts", "state.ts", "message-list.ts", "list-session.ts", "summariser.ts"],
    ...["compact-messages.ts", ["ai-sdk.ts", "index.ts"]],
  ],
  "packages/models/src": [
    ...["call-arguments.ts", "file-lock.ts", "json-file.ts", "model.ts", "model-request.ts"],
    "provider-summary.ts",
    ...["thinking-tags.ts", "answer-builder.ts", "provider.ts", "failure", "repair", "wire"],
    ...["openai", "anthropic", "thinking.ts", "scripted", "catalogue", "keys", "exchange"],
    ...["login.ts", "model-client.ts", "host.ts", "index.ts"],
  ],
  "packages/agent/src": [
    ...["notice.ts", "settings.ts", "tools", "resources", "prompt", "recall", "events.ts"],
    ...["lifecycle.ts", "run", "listing", "task-tool.ts", "agent.ts", "context-tool.ts", "open-agent.ts"],
    ...["host.ts", "index.ts"],
  ],
  "packages/transcripts/src": [
    ...["markdown", "import", "entries.ts", "claude-code", "codex", "google", "opencode"],
    ...["formats.ts", "transcript-files.ts", "transcript-heads.ts", "import-transcript.ts"],
    ...["compaction-spans.ts", "tail.ts", "export-markdown.ts", "index.ts"],
  ],
  "packages/cli/src": [
    ...[
      "version.ts",
      "views",
      "call",
      "packages",
      "demo",
      ["commands", "print", "rpc", "acp", "mcp-server", "interactive", "hook"],
    ],
    ...["grammar", "command-line", "run-agent.ts", "program.ts", "main.ts"],
  ],
  "packages/cli/src/interactive": [
    ...["between-keys.ts", "no-model.ts", "terminal", "panels", "status"],
    ...["extension-views", "chat", "prompt", "interactive-context.ts", "tree", "slash", "session"],
    "interactive-mode.ts",
  ],
};

/** Imports against the order that remain, as "from > to". */
const UPWARD: readonly string[] = [
  "packages/messages/src/message.ts > usage.ts",
  "packages/session/src/store > read",
  "packages/session/src/store > open-session.ts",
];

/** Folders that the rest of their package must load with `import()`, to keep the start of the other modes fast. */
const LAZY = ["interactive", "acp", "mcp-server", "hook"].map((name) => `packages/cli/src/${name}`);

/** Checks that imports only go down, and that lazy folders are loaded with `import()`. */
export function checkLayers(root: string, order: Order = ORDER): string[] {
  const packages = readPackages(root);
  const files = packages.flatMap(({ folder }) => filesBelow(join(folder, "src"), [".ts"]));
  const folders = new Map(packages.map(({ name, folder }) => [name, folder]));
  const imports = files.flatMap((file) => importsOf(file, folders));
  return [
    ...Object.entries(order).flatMap(([folder, parts]) =>
      checkOrder({ root, folder, parts, files, imports }),
    ),
    ...checkLazy(root, imports),
  ];
}

interface CheckedFolder {
  root: string;
  folder: string;
  parts: readonly (string | Siblings)[];
  files: readonly string[];
  imports: readonly Import[];
}

function checkOrder({ root, folder, parts, files, imports }: CheckedFolder): string[] {
  const below = `${join(root, folder)}/`;
  const partOf = (path: string) => path.slice(below.length).split("/")[0]!;
  const places = new Map(parts.flatMap((row, place) => [row].flat().map((part) => [part, place] as const)));
  const found = new Set(files.filter((file) => file.startsWith(below)).map(partOf));
  const unlisted = [...found].filter((part) => !places.has(part));
  const gone = [...places.keys()].filter((part) => !found.has(part));
  const upward = imports
    .filter(({ file, target }) => file.startsWith(below) && target.startsWith(below))
    .map(({ file, target }) => ({ file, from: partOf(file), to: partOf(target) }))
    .filter(({ from, to }) => from !== to && places.get(to)! >= places.get(from)!)
    .filter(({ from, to }) => !UPWARD.includes(`${folder}/${from} > ${to}`));
  return [
    ...unlisted.map((part) => `${folder}/${part} has no place in ORDER in layers.ts`),
    ...gone.map((part) => `ORDER in layers.ts names ${folder}/${part}, which has no source`),
    ...upward.map(({ file, to }) => `${shown(root, file)} imports ${to}, which is not below it`),
  ];
}

function checkLazy(root: string, imports: readonly Import[]): string[] {
  return imports
    .filter(({ file, target, isStatic }) =>
      LAZY.some(
        (folder) => isStatic && target.startsWith(join(root, folder)) && !file.startsWith(join(root, folder)),
      ),
    )
    .map(
      ({ file, target }) =>
        `${shown(root, file)} imports ${shown(root, target)} at every start. Load it with import().`,
    );
}
