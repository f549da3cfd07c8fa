import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type Findings, filesBelow, type Package, readPackages } from "./workspace.ts";

const OUTPUT = /(?:\.d\.ts|\.js)(?:\.map)?$/;
/** The entry of a bundle. Every other file of the bundle is reachable from it. */
const BUNDLE_ENTRY = "main.mjs";
/** Built separately, each into an emptied folder: the browser's program and the first-party extensions. */
const OTHER_BUNDLES = ["page-bundle", "extensions"];
/** A relative path in any string: the bundle may load it. */
const RELATIVE = /["'`](\.\.?\/[^"'`\s]+\.m?js)["'`]/g;

/** Finds built files without a source. Compilers and the build cache leave them behind. */
export function checkDist(root: string): Findings {
  const errors = readPackages(root)
    .filter((pkg) => !pkg.private)
    .flatMap((pkg) => {
      const [first, ...more] = staleOutputs(pkg);
      if (first === undefined) return [];
      const others = more.length === 0 ? "" : ` and ${more.length} more`;
      return [`${relative(root, first)}${others} have no source. Run: pnpm build`];
    });
  return { errors, warnings: [] };
}

/** Absolute paths of files in a package's dist that have no source, or that its bundle never loads. */
export function staleOutputs(pkg: Package): string[] {
  const dist = join(pkg.folder, "dist");
  const entry = join(dist, BUNDLE_ENTRY);
  const stale = existsSync(entry) ? outOfReach(dist, entry) : sourceless(dist, join(pkg.folder, "src"));
  return stale.filter((file) => !OTHER_BUNDLES.some((folder) => file.startsWith(join(dist, folder))));
}

function sourceless(dist: string, src: string): string[] {
  return filesBelow(dist, [".js", ".d.ts", ".map"]).filter(
    (file) => !existsSync(join(src, relative(dist, file).replace(OUTPUT, ".ts"))),
  );
}

function outOfReach(dist: string, entry: string): string[] {
  const reached = new Set([entry]);
  // The loop also visits files that it adds on the way.
  for (const file of reached) {
    for (const [, name] of readFileSync(file, "utf8").matchAll(RELATIVE)) {
      const target = join(dirname(file), name!);
      if (existsSync(target)) reached.add(target);
    }
  }
  return filesBelow(dist, [".js", ".mjs"]).filter((file) => !reached.has(file));
}
