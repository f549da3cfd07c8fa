import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";
import { filesBelow, type Package, readPackages } from "./workspace.ts";

const WALK = "packages/agent/bench/prompt-walk.ts";

interface SourceFile {
  lines: number;
  exports: number;
}

interface PackageFigures {
  name: string;
  files: readonly SourceFile[];
  benchLines: number;
  /** Public names of the package, of its subpath `./host`, and of its other subpaths. */
  names: readonly [own: number, host: number, other: number];
}

/** A table of sizes with a row for each package and a sum, and the files that three flows run through. */
export function structureFigures(root: string): string {
  const packages = readPackages(root).map(figuresOf);
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
  const all: PackageFigures = {
    name: "all",
    files: packages.flatMap(({ files }) => files),
    benchLines: sum(packages.map(({ benchLines }) => benchLines)),
    names: [0, 1, 2].map((at) => sum(packages.map(({ names }) => names[at]!))) as [number, number, number],
  };
  const rows = [
    ["package", "files", "lines", "bench", "median", "p90", "max", "one export", ".", "./host", "./…"],
    ...[...packages, all].map(row),
  ];
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((cells) => cells[at]!.length)));
  const table = rows.map((cells) =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join("  "),
  );
  return [...table, ...walks(root)].join("\n");
}

function figuresOf(pkg: Package): PackageFigures {
  const { folder, directory: name } = pkg;
  const filesIn = (part: string) => filesBelow(join(folder, part), [".ts", ".tsx"]).map(measured);
  const names: [number, number, number] = [0, 0, 0];
  for (const [subpath, file] of sourceEntries(pkg))
    names[subpath === "." ? 0 : subpath === "./host" ? 1 : 2] += publicNames(file);
  const benchLines = filesIn("bench").reduce((total, { lines }) => total + lines, 0);
  return { name, files: [...filesIn("src"), ...filesIn("browser")], benchLines, names };
}

/** Subpaths of `exports` with their source files. The command has none. */
function sourceEntries({ folder, manifest }: Package): [subpath: string, file: string][] {
  return Object.entries(manifest.exports ?? {}).flatMap(([subpath, entry]): [string, string][] => {
    const file = typeof entry === "string" ? entry : entry["@bonsai-agent/source"];
    return file?.endsWith(".ts") ? [[subpath, join(folder, file)]] : [];
  });
}

function publicNames(file: string): number {
  const { module } = parseSync(file, readFileSync(file, "utf8"));
  return new Set(
    module.staticExports.flatMap(({ entries }) =>
      entries.map(({ exportName }) => exportName.name ?? "default"),
    ),
  ).size;
}

function measured(path: string): SourceFile {
  const text = readFileSync(path, "utf8");
  const declared = text.match(
    /^export (?:default |async |abstract |declare )*(?:function|const|let|class)\b/gm,
  );
  const listed = [...text.matchAll(/^export \{([^}]*)\}/gm)].flatMap(([, names]) =>
    names!.split(",").filter((name) => !/^\s*(type\b|$)/.test(name)),
  );
  return { lines: text.split("\n").length - 1, exports: (declared?.length ?? 0) + listed.length };
}

function row({ name, files, benchLines, names }: PackageFigures): string[] {
  const lines = files.map((file) => file.lines).sort((a, b) => a - b);
  const share = (part: number) => lines[Math.min(lines.length - 1, Math.floor(lines.length * part))] ?? 0;
  const single = files.filter((file) => file.exports === 1).length;
  const total = lines.reduce((sum, count) => sum + count, 0);
  const percent = Math.round((100 * single) / Math.max(1, files.length));
  return [
    name,
    ...[files.length, total, benchLines, share(0.5), share(0.9), lines.at(-1) ?? 0].map(String),
    `${percent}%`,
    ...names.map(String),
  ];
}

interface Walk {
  flow: string;
  files: string[];
  returns: number;
  request: { files: number; returns: number };
}

/** One line for each flow, measured in a separate process. */
function walks(root: string): string[] {
  const run = spawnSync(process.execPath, ["--import", "tsx", "--conditions=@bonsai-agent/source", WALK], {
    cwd: root,
    encoding: "utf8",
  });
  if (run.status !== 0) return [`flows: ${WALK} failed: ${run.stderr.trim().split("\n").at(-1)}`];
  return run.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Walk)
    .map(
      ({ flow, files, returns, request }) =>
        `flow "${flow}": ${files.length} files, ${returns} returns; the compaction's request: ${request.files} files, ${request.returns} returns`,
    );
}
