import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Findings, filesBelow, type Package, readExtensions, readPackages } from "./workspace.ts";

/** Finds published packages that changed since their last release without a changeset, and changesets of other packages. */
export function checkChangesets(root: string): Findings {
  if (git(root, ["rev-parse", "--verify", "HEAD"]) === undefined) {
    return { errors: [], warnings: ["changesets were not checked: this folder has no git history"] };
  }
  const changesets = filesBelow(join(root, ".changeset"), [".md"]).map((file) => ({
    file: `.changeset/${basename(file)}`,
    packages: packagesNamed(readFileSync(file, "utf8")),
  }));
  const named = new Set(changesets.flatMap(({ packages }) => packages));
  const published = [...readPackages(root), ...readExtensions(root)].filter((pkg) => !pkg.private);
  const unreported = published
    .filter((pkg) => changedSinceRelease(root, pkg) && !named.has(pkg.name))
    .map(
      ({ name }) => `${name} changed since its last release, but no changeset names it. Run: pnpm changeset`,
    );
  const names = new Set(published.map(({ name }) => name));
  const misnamed = changesets.flatMap(({ file, packages }) =>
    packages
      .filter((name) => !names.has(name))
      .map((name) => `${file} names ${name}, which is not a published package.`),
  );
  const errors = [...unreported, ...misnamed];
  return { errors, warnings: [] };
}

function packagesNamed(changeset: string): string[] {
  const frontMatter = /^---\n([\s\S]*?)\n---/.exec(changeset)?.[1] ?? "";
  return [...frontMatter.matchAll(/^["']?([^"':\n]+)["']?:\s*(?:major|minor|patch)\s*$/gm)].map(
    (match) => match[1]!,
  );
}

/** The latest release is the last commit of the package's CHANGELOG.md. Before the first release, every package counts as changed. */
function changedSinceRelease(root: string, pkg: Package): boolean {
  const changelog = join(pkg.folder, "CHANGELOG.md");
  if (!existsSync(changelog)) return true;
  const release = git(root, ["log", "-1", "--format=%H", "--", changelog]);
  if (!release) return true;
  return Boolean(git(root, ["diff", "--name-only", release, "--", ...sourcesOf(pkg)]));
}

/** The modules of an extension are beside its manifest. */
function sourcesOf({ folder, sources }: Package): string[] {
  return [...sources, join(folder, "*.ts")];
}

function git(root: string, args: string[]): string | undefined {
  const run = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  return run.status === 0 ? run.stdout.trim() : undefined;
}
