import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, readPackages } from "./workspace.ts";

const WALK = "packages/agent/bench/prompt-walk.ts";

interface SourceFile {
  lines: number;
  exports: number;
}

/** A table of sizes with a row for each package and a sum, and the number of files that one prompt runs through. */
export function structureFigures(root: string): string {
  const packages = readPackages(root).map(({ folder, directory }) => ({
    name: directory,
    files: ["src", "browser"]
      .flatMap((part) => filesBelow(join(folder, part), [".ts", ".tsx"]))
      .map(measured),
  }));
  const all = { name: "all", files: packages.flatMap(({ files }) => files) };
  const rows = [
    ["package", "files", "lines", "median", "p90", "max", "one export"],
    ...[...packages, all].map(({ name, files }) => row(name, files)),
  ];
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((cells) => cells[at]!.length)));
  const table = rows.map((cells) =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join("  "),
  );
  return [...table, `one prompt with a compaction runs through ${promptWalk(root)}`].join("\n");
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

function row(name: string, files: readonly SourceFile[]): string[] {
  const lines = files.map((file) => file.lines).sort((a, b) => a - b);
  const share = (part: number) =>
    String(lines[Math.min(lines.length - 1, Math.floor(lines.length * part))] ?? 0);
  const single = files.filter((file) => file.exports === 1).length;
  const total = lines.reduce((sum, count) => sum + count, 0);
  const percent = Math.round((100 * single) / Math.max(1, files.length));
  return [
    name,
    String(files.length),
    String(total),
    share(0.5),
    share(0.9),
    String(lines.at(-1) ?? 0),
    `${percent}%`,
  ];
}

/** Counts the files by coverage, in a separate process. */
function promptWalk(root: string): string {
  const run = spawnSync(process.execPath, ["--import", "tsx", "--conditions=@bonsai-agent/source", WALK], {
    cwd: root,
    encoding: "utf8",
  });
  if (run.status !== 0) return `? files (${WALK} failed: ${run.stderr.trim().split("\n").at(-1)})`;
  const { files } = JSON.parse(run.stdout) as { files: string[] };
  return `${files.length} files`;
}
