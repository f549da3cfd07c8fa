import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { filesBelow, readExtensions, readPackages, shown } from "./workspace.ts";

/** A path to a source, test or bench, as documents write it: `session/src/store.ts`. */
const NAMED = /`((?:packages\/)?[a-z-]+\/(?:src|test|bench)\/[\w./-]*[\w/])`/g;
/** A link or picture in the repository: its file and its heading. */
const LINK = /\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)/g;

/** Checks that the files, folders and headings named in documents exist. */
export function checkNamedFiles(root: string): string[] {
  const documents = [
    ...["CONTRIBUTING.md", "README.md", "examples/README.md"].map((name) => join(root, name)),
    ...filesBelow(join(root, "docs"), [".md"]),
    ...[...readPackages(root), ...readExtensions(root)].map(({ folder }) => join(folder, "README.md")),
  ].filter((file) => existsSync(file));
  return documents.flatMap((document) => {
    const text = readFileSync(document, "utf8");
    const missing = [...missingPaths(root, text), ...brokenLinks(document, text)];
    return missing.map((name) => `${shown(root, document)} names ${name}, which does not exist`);
  });
}

function missingPaths(root: string, text: string): string[] {
  return [...text.matchAll(NAMED)]
    .map(([, path]) => path!)
    .filter((path) => ![path, `packages/${path}`].some((from) => existsSync(join(root, from))));
}

function brokenLinks(document: string, text: string): string[] {
  return [...withoutCode(text).matchAll(LINK)]
    .filter(([, path, heading]) => {
      const target = path === "" ? document : resolve(dirname(document), path!);
      if (!existsSync(target)) return true;
      return heading !== undefined && !headingsOf(readFileSync(target, "utf8")).includes(heading);
    })
    .map(([link]) => link.slice(2, -1));
}

function headingsOf(text: string): string[] {
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function withoutCode(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```/gm, "");
}
