import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type Findings, filesBelow, type Package, readPackages } from "./workspace.ts";

const OUTPUT = /(?:\.d\.ts|\.js)(?:\.map)?$/;
/** The one entry of a bundle; whatever else it holds hangs on it. */
const BUNDLE_ENTRY = "main.mjs";
/** What runs in a browser is no part of the program: it is built whole, in a folder of its own. */
const BROWSER_FOLDER = "page-bundle";
/** A piece that is only named, in whatever way, is one that may be loaded. */
const RELATIVE = /["'`](\.\.?\/[^"'`\s]+\.m?js)["'`]/g;

/** What would be packed was built from what there is: compilers, and a cache that writes over, leave old files behind. */
export function checkDist(root: string): Findings {
  const errors = readPackages(root)
    .filter((pkg) => !pkg.private)
    .flatMap((pkg) => {
      const [first, ...more] = staleOutputs(pkg);
      if (first === undefined) return [];
      const others = more.length === 0 ? "" : ` and ${more.length} more`;
      return [`${relative(root, first)}${others} have no source any more: \`pnpm build\` removes them`];
    });
  return { errors, warnings: [] };
}

/** Files of a package's dist that no source compiles to, or that no file of its bundle names. Absolute paths. */
export function staleOutputs(pkg: Package): string[] {
  const dist = join(pkg.folder, "dist");
  const entry = join(dist, BUNDLE_ENTRY);
  const stale = existsSync(entry) ? outOfReach(dist, entry) : sourceless(dist, join(pkg.folder, "src"));
  return stale.filter((file) => !file.startsWith(join(dist, BROWSER_FOLDER)));
}

function sourceless(dist: string, src: string): string[] {
  return filesBelow(dist, [".js", ".d.ts", ".map"]).filter(
    (file) => !existsSync(join(src, relative(dist, file).replace(OUTPUT, ".ts"))),
  );
}

function outOfReach(dist: string, entry: string): string[] {
  const reached = new Set([entry]);
  // A set is walked to its end, what is added on the way included.
  for (const file of reached) {
    for (const [, name] of readFileSync(file, "utf8").matchAll(RELATIVE)) {
      const target = join(dirname(file), name!);
      if (existsSync(target)) reached.add(target);
    }
  }
  return filesBelow(dist, [".js", ".mjs"]).filter((file) => !reached.has(file));
}
