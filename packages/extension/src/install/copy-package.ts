import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { isTorn, npmFailure } from "./npm-failure.ts";
import { type PackageManifest, packageManifest } from "./package-manifest.ts";
import { type NpmSource, sourceText, type TarballSource } from "./package-source.ts";
import { type RunNpmOptions, runNpm } from "./run-npm.ts";

/** What npm calls a tarball whose own name is not known yet. */
const unnamed = "bonsai-tarball";

export interface CopiedPackage extends PackageManifest {
  name: string;
  /** Absolute; not below a `node_modules`. */
  folder: string;
}

/**
 * Fetches a package and what it depends on into a staging folder. Node strips no types below a `node_modules`, so the
 * package itself stands beside it, where it finds its dependencies as before:
 *
 *     package/        its files, and what npm nested in it
 *     node_modules/   what it depends on, and a link back to it
 *
 * @throws BonsaiError for each way in which npm can fail
 */
export async function copyPackage(
  source: NpmSource | TarballSource,
  { folder, env, signal }: RunNpmOptions,
): Promise<CopiedPackage> {
  const [key, spec] =
    source.kind === "npm" ? [source.name, source.version ?? "latest"] : [unnamed, `file:${source.path}`];
  const wanted = { private: true, dependencies: { [key]: spec } };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(wanted, null, 2)}\n`);
  const end = await runNpm({ folder, env, signal });
  const installed = join(folder, "node_modules", key);
  if (end.exitCode !== 0 || isTorn(end) || !existsSync(installed)) throw npmFailure(sourceText(source), end);
  const place = join(folder, "package");
  renameSync(installed, place);
  const { name = source.kind === "npm" ? source.name : undefined, version } = packageManifest(place);
  if (name === undefined) throw nameless(source);
  for (const link of new Set([name, key])) linkBack(join(folder, "node_modules", link), place);
  return { name, folder: place, ...(version === undefined ? {} : { version }) };
}

/** For its programs in `.bin`, and for dependencies that in turn import the package. */
function linkBack(link: string, place: string): void {
  // There, links want rights that few have.
  if (process.platform === "win32") return;
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(dirname(link), place), link);
}

function nameless(source: NpmSource | TarballSource): BonsaiError {
  return new BonsaiError({
    code: "package_invalid",
    message: `The package.json of ${sourceText(source)} has no name that npm allows.`,
    hint: "Give it a name, or unpack it and install its folder.",
  });
}
