import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Findings, filesBelow, readPackages, shown } from "./workspace.ts";

const FILE_LINES = 300;
const FUNCTION_RULE = "complexity/noExcessiveLinesPerFunction";

/** Warns about large files and functions. */
export function checkSizes(root: string): Findings {
  return { errors: [], warnings: [...largeFiles(root), ...largeFunctions(root)] };
}

function largeFiles(root: string): string[] {
  return readPackages(root)
    .flatMap(({ folder }) =>
      ["src", "browser"].flatMap((part) => filesBelow(join(folder, part), [".ts", ".tsx"])),
    )
    .map((file) => ({ file, lines: readFileSync(file, "utf8").split("\n").length - 1 }))
    .filter(({ lines }) => lines > FILE_LINES)
    .map(({ file, lines }) => `${shown(root, file)} has ${lines} lines`);
}

/** Biome counts the lines; its default limit is 50 lines of code for a function. */
function largeFunctions(root: string): string[] {
  const sources = readPackages(root).map((pkg) => `packages/${pkg.directory}/src`);
  const biome = spawnSync(
    join(root, "node_modules/.bin/biome"),
    ["lint", `--only=${FUNCTION_RULE}`, "--reporter=json", "--max-diagnostics=none", ...sources],
    { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 },
  );
  if (biome.error !== undefined) return [`functions were not measured: ${biome.error.message}`];
  const report = JSON.parse(biome.stdout) as BiomeReport;
  return report.diagnostics.map(({ location, message }) => `${place(location)}: ${text(message)}`);
}

interface BiomeReport {
  diagnostics: { message: string | { content: string }[]; location: BiomeLocation }[];
}

interface BiomeLocation {
  path?: string | { file?: string };
  start?: { line?: number };
}

function place(location: BiomeLocation): string {
  const path = typeof location.path === "string" ? location.path : (location.path?.file ?? "?");
  return location.start?.line === undefined ? path : `${path}:${location.start.line}`;
}

function text(message: string | { content: string }[]): string {
  return typeof message === "string" ? message : message.map(({ content }) => content).join("");
}
