import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Findings, filesBelow, readPackages, shown } from "./workspace.ts";

/** A path to a source, test or bench, as documents write it: `session/src/store.ts`. */
const NAMED = /`((?:packages\/)?[a-z-]+\/(?:src|test|bench)\/[\w./-]*[\w/])`/g;

/** Checks that the files and folders named in documents exist. */
export function checkNamedFiles(root: string): Findings {
  const documents = [
    ...["CONTRIBUTING.md", "README.md"].map((name) => join(root, name)),
    ...filesBelow(join(root, "docs"), [".md"]),
    ...readPackages(root).map(({ folder }) => join(folder, "README.md")),
  ].filter((file) => existsSync(file));
  const errors = documents.flatMap((document) =>
    [...readFileSync(document, "utf8").matchAll(NAMED)]
      .map(([, path]) => path!)
      .filter((path) => ![path, `packages/${path}`].some((from) => existsSync(join(root, from))))
      .map((path) => `${shown(root, document)} names ${path}, which does not exist`),
  );
  return { errors, warnings: [] };
}
