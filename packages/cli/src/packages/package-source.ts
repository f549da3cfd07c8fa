import { statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { allPackageResources, isModuleName, packageExtensions } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { textFile } from "@bonsai-agent/models/host";
import { z } from "zod";
import { findFirstParty, firstPartyExtensions, SHIPPED_PREFIX, shippedFolder } from "../call/first-party.ts";
import { isNpmName } from "../call/installed-packages.ts";
import { didYouMean } from "../views/nearest-word.ts";

export interface NpmSource {
  kind: "npm";
  name: string;
  /** A version, a range or a tag. */
  version: string | undefined;
}

/** A folder or module of the user, or a first-party extension in the program's own folder. */
interface LocalSource {
  kind: "local" | "shipped";
  /** The short name of a first-party extension. */
  name?: string;
  /** Absolute. */
  path: string;
}

/** Source given to `bonsai extension add`. */
type PackageSource = NpmSource | LocalSource;

/**
 * Reads `npm:NAME[@VERSION]`, the name of an extension that comes with Bonsai, or a path. The extension wins over a path
 * of the same name, because a project must not replace it by its own folder. Write `./mcp` for the path.
 * @throws BonsaiError `package_source_invalid`, `package_not_found`
 */
export function packageSource(text: string, cwd: string): PackageSource {
  if (text.startsWith("npm:")) return npmSource(text);
  if (/^(git|git\+\w+|https?|ssh|github|file|workspace):|^git@/.test(text))
    throw new BonsaiError({
      code: "package_source_invalid",
      message: `${JSON.stringify(text)} is neither an npm package nor a path.`,
      hint: "Clone or download it, then run `bonsai extension add ./FOLDER`.",
    });
  const firstParty = findFirstParty(text);
  if (firstParty === undefined) return pathSource(text, resolve(cwd, text));
  const { name, package: npmName } = firstParty;
  const path = shippedFolder(name);
  return path === undefined
    ? { kind: "npm", name: npmName, version: undefined }
    : { kind: "shipped", name, path };
}

/** A source as records and `bonsai extension list` write it. */
export function sourceText(source: PackageSource): string {
  if (source.kind !== "npm")
    return source.kind === "shipped" ? `${SHIPPED_PREFIX}${source.name}` : source.path;
  return source.version === undefined ? `npm:${source.name}` : `npm:${source.name}@${source.version}`;
}

function npmSource(text: string): NpmSource {
  const [, name = "", version] = /^npm:(.[^@]*)(?:@(.*))?$/s.exec(text) ?? [];
  // An address would install something else than the package of that name.
  const isVersion = version === undefined || /^[\w.^~<>=|*+ -]+$/.test(version);
  if (isNpmName(name) && isVersion) return { kind: "npm", name, version };
  throw new BonsaiError({
    code: "package_source_invalid",
    message: `${JSON.stringify(text)} is not a valid npm package.`,
    hint: "Write npm:bonsai-notes or npm:@acme/notes@1.2.0. After the @, write a version, a range or a tag.",
  });
}

function pathSource(text: string, path: string): LocalSource {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() || found?.isFile()) return { kind: "local", path };
  const names = firstPartyExtensions.map(({ name }) => name);
  const meant = didYouMean(text, names, "`bonsai extension add ").replace(/\?$/, "`? ").trimStart();
  const hint = isNpmName(text)
    ? `For a package from npm, write npm:${text}. Run \`bonsai extension add\` to list the extensions that come with Bonsai.`
    : "Give a folder, a file or an npm package, for example npm:bonsai-notes.";
  throw new BonsaiError({
    code: "package_not_found",
    message: found === undefined ? `${path} does not exist.` : `${path} is neither a folder nor a file.`,
    hint: `${meant}${hint}`,
  });
}

/** Invalid fields are absent. */
const manifest = z.object({
  name: z.string().refine(isNpmName).optional().catch(undefined),
  version: z
    .string()
    .regex(/^\d[\w.+-]*$/)
    .optional()
    .catch(undefined),
});

/** The name and version in a folder's `package.json`; empty without a readable one. */
export function packageManifest(folder: string): z.output<typeof manifest> {
  const text = textFile(join(folder, "package.json"));
  try {
    return manifest.parse(JSON.parse(text ?? "{}"));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return {};
    throw error;
  }
}

/**
 * Absolute paths of the extensions in a package's folder, or of a lone module. Only a package with skills, prompt
 * templates or themes may have none.
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
