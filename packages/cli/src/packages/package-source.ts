import { readFileSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { allPackageResources, isModuleName, packageExtensions } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  type FirstPartyExtension,
  findFirstParty,
  SHIPPED_PREFIX,
  shippedFolder,
} from "../call/first-party.ts";
import { isNpmName } from "../call/installed-packages.ts";

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

/** A folder or module that stays at its place. */
export interface LocalSource {
  kind: "folder" | "module";
  path: string;
}

/** A first-party extension that ships with the running program, used from the program's own folder. */
export interface ShippedSource {
  kind: "shipped";
  /** Its short name. */
  name: string;
  /** Absolute. */
  path: string;
}

/** Source given to `bonsai extension add`. Paths are absolute. */
type PackageSource = NpmSource | TarballSource | LocalSource | ShippedSource;

/**
 * Reads `npm:NAME[@VERSION]`, the name of an extension that comes with Bonsai, or a path, which starts at `cwd`. The
 * extension wins over a path of the same name, because a project must not replace it by its own folder. Write `./mcp`
 * for the path.
 * @throws BonsaiError `package_source_invalid`, `package_not_found`
 */
export function packageSource(text: string, cwd: string): PackageSource {
  if (text.startsWith("npm:")) return npmSource(text);
  if (/^(git|git\+\w+|https?|ssh|github|file|workspace):|^git@/.test(text)) throw unknownKind(text);
  const firstParty = findFirstParty(text);
  return firstParty === undefined ? pathSource(text, resolve(cwd, text)) : firstPartySource(firstParty);
}

/** How a record names it, and `bonsai list` shows it. */
export function sourceText(source: PackageSource): string {
  if (source.kind === "shipped") return `${SHIPPED_PREFIX}${source.name}`;
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
    message: `${JSON.stringify(text)} is not a valid npm package.`,
    hint: "Write npm:bonsai-notes or npm:@acme/notes@1.2.0. After the @, write a version, a range or a tag.",
  });
}

function pathSource(text: string, path: string): PackageSource {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return { kind: "folder", path };
  if (found?.isFile()) return { kind: /\.(tgz|tar\.gz)$/i.test(path) ? "tarball" : "module", path };
  throw new BonsaiError({
    code: "package_not_found",
    message: found === undefined ? `${path} does not exist.` : `${path} is neither a folder nor a file.`,
    hint: isNpmName(text)
      ? `For a package from npm, write npm:${text}. Run \`bonsai extension add\` to list the extensions that come with Bonsai.`
      : "Give a folder, a file or an npm package, for example npm:bonsai-notes.",
  });
}

function firstPartySource({ name, package: npmName }: FirstPartyExtension): ShippedSource | NpmSource {
  const path = shippedFolder(name);
  return path === undefined
    ? { kind: "npm", name: npmName, version: undefined }
    : { kind: "shipped", name, path };
}

function unknownKind(text: string): BonsaiError {
  return new BonsaiError({
    code: "package_source_invalid",
    message: `${JSON.stringify(text)} is neither an npm package nor a path.`,
    hint: "Clone or download it, then run `bonsai extension add ./FOLDER`.",
  });
}

/** The valid fields of a `package.json`; invalid ones are absent. */
export interface PackageManifest {
  /** A name that npm could have. */
  name?: string;
  /** Can be part of a folder's name. */
  version?: string;
}

/** Empty without a readable `package.json`. */
export function packageManifest(folder: string): PackageManifest {
  const { name, version } = fields(join(folder, "package.json"));
  return {
    ...(typeof name === "string" && isNpmName(name) ? { name } : {}),
    ...(typeof version === "string" && /^\d[\w.+-]*$/.test(version) ? { version } : {}),
  };
}

function fields(file: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8").replace(/^\ufeff/, ""));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof SyntaxError || code === "ENOENT" || code === "ENOTDIR") return {};
    throw error;
  }
}

/**
 * Absolute paths of the extensions in a package's folder, or of the lone module that it is: at least one, but in a
 * package that brings skills, prompt templates or themes.
 * @throws BonsaiError `package_without_extensions`
 */
export function packageEntries(folder: string, source: string): readonly string[] {
  const { entries, problems } = packageExtensions(folder);
  const modules = entries.filter(isModuleName);
  if (modules.length > 0 || allPackageResources(folder).paths.length > 0) return modules;
  const [problem] = problems;
  const why =
    problem === undefined ? "" : ` ${relative(folder, problem.path) || "The package"}: ${problem.message}`;
  throw new BonsaiError({
    code: "package_without_extensions",
    message: `${source} contains no extension, skill, prompt template or theme.${why}`,
    hint: 'Name them in its package.json: {"bonsai": {"extensions": ["./index.ts"]}}. To install a single module, give its path.',
  });
}
