import { statSync } from "node:fs";
import { resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { isNpmName } from "./package-records.ts";

/** A package of npm. */
export interface NpmSource {
  kind: "npm";
  name: string;
  /** A version, a range or a tag. */
  version: string | undefined;
}

/** A package in one file, as `npm pack` writes it. */
export interface TarballSource {
  kind: "tarball";
  path: string;
}

/** What is used where it lies. */
export interface LocalSource {
  kind: "folder" | "module";
  path: string;
}

/** What `bonsai install` was asked for; paths are absolute. */
export type PackageSource = NpmSource | TarballSource | LocalSource;

/**
 * Reads `npm:NAME[@VERSION]` or a path, which starts at `cwd`.
 * @throws BonsaiError `package_source_invalid`, `package_not_found`
 */
export function packageSource(text: string, cwd: string): PackageSource {
  if (text.startsWith("npm:")) return npmSource(text);
  if (/^(git|git\+\w+|https?|ssh|github|file|workspace):|^git@/.test(text)) throw unknownKind(text);
  return pathSource(text, resolve(cwd, text));
}

/** How a record names it, and `bonsai list` shows it. */
export function sourceText(source: PackageSource): string {
  if (source.kind !== "npm") return source.path;
  return source.version === undefined ? `npm:${source.name}` : `npm:${source.name}@${source.version}`;
}

function npmSource(text: string): PackageSource {
  const [, name = "", version] = /^npm:(.[^@]*)(?:@(.*))?$/s.exec(text) ?? [];
  // A version, a range or a tag; an address would be something else than the package of that name.
  const isVersion = version === undefined || /^[\w.^~<>=|*+ -]+$/.test(version);
  if (isNpmName(name) && isVersion) return { kind: "npm", name, version };
  throw new BonsaiError({
    code: "package_source_invalid",
    message: `${JSON.stringify(text)} is no package of npm.`,
    hint: "Name it like npm:bonsai-notes or npm:@acme/notes@1.2.0; behind the @ may stand a version, a range or a tag.",
  });
}

function pathSource(text: string, path: string): PackageSource {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return { kind: "folder", path };
  if (found?.isFile()) return { kind: /\.(tgz|tar\.gz)$/i.test(path) ? "tarball" : "module", path };
  throw new BonsaiError({
    code: "package_not_found",
    message: found === undefined ? `There is no ${path}.` : `${path} is neither a folder nor a file.`,
    hint: isNpmName(text)
      ? `For a package of npm, say npm:${text}.`
      : "Name a folder, a file or a package of npm, like npm:bonsai-notes.",
  });
}

function unknownKind(text: string): BonsaiError {
  return new BonsaiError({
    code: "package_source_invalid",
    message: `Packages come from npm or from a path, and ${JSON.stringify(text)} is neither.`,
    hint: "Clone or download it, and install its folder: `bonsai install ./folder`.",
  });
}
