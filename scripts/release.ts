import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { styleText } from "node:util";
import { type Package, readExtensions, readPackages } from "./structure/workspace.ts";

// `pnpm release --dry-run` packs all published packages, installs the tarballs into an empty project with npm, and type-checks
// and runs the README examples there. Without --dry-run it then publishes them.
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const args = process.argv.slice(2);
const isDryRun = args.includes("--dry-run");
const unknown = args.find((arg) => arg !== "--dry-run" && arg !== "--");
if (unknown !== undefined) {
  console.error(`Unknown argument ${unknown}. Use \`pnpm release --dry-run\` or \`pnpm release\`.`);
  process.exit(2);
}

interface PackedPackage {
  name: string;
  version: string;
  tarball: string;
  readme: string;
}

const compilerOptions = {
  target: "es2024",
  module: "nodenext",
  lib: ["es2024"],
  types: ["node"],
  typeRoots: [join(root, "node_modules/@types")],
  strict: true,
  noUncheckedIndexedAccess: true,
  allowImportingTsExtensions: true,
  noEmit: true,
};

const folder = mkdtempSync(join(tmpdir(), "bonsai-release-"));
try {
  // Earlier builds left files whose sources are gone.
  for (const { folder } of readPackages(root)) rmSync(join(folder, "dist"), { recursive: true, force: true });
  run("pnpm", ["build"], root);
  const packages = [...readPackages(root), ...readExtensions(root)].filter((pkg) => !pkg.private);
  const packed = packages.map((pkg) => pack(pkg, join(folder, "tarballs", pkg.directory)));
  step(`Packed ${packed.length} packages`);
  for (const each of packed) checkManifest(each);
  checkInstalled(packed);
  step("The release is ready");
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (!isDryRun) run("pnpm", ["exec", "changeset", "publish"], root);

function pack(pkg: Package, to: string): PackedPackage {
  mkdirSync(to, { recursive: true });
  run("pnpm", ["--reporter=silent", "pack", "--pack-destination", to], pkg.folder);
  const tarball = join(to, readdirSync(to)[0]!);
  const readme = textIn(tarball, "README.md");
  const { name, version } = JSON.parse(textIn(tarball, "package.json")) as { name: string; version: string };
  console.log(`  ${name} ${version}  ${kilobytes(tarball)} kB`);
  return { name, version, tarball, readme };
}

/** Fails if a packed package lacks its licence, cannot be resolved, or links to a file that it does not contain. */
function checkManifest({ name, tarball, readme }: PackedPackage): void {
  const files = run("tar", ["-tzf", tarball], root)
    .split("\n")
    .map((file) => file.replace(/^package\//, ""));
  if (!files.includes("LICENSE")) fail(`${name} has no LICENSE.`);
  if (textIn(tarball, "package.json").includes("workspace:"))
    fail(`The package.json of ${name} contains workspace:.`);
  for (const [, link = ""] of readme.matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)) {
    const isThere = files.some((file) => file === link || file.startsWith(`${link.replace(/\/$/, "")}/`));
    if (!isThere) fail(`The README of ${name} links to ${link}, which is not in its tarball.`);
  }
}

/** Installs all tarballs into one empty project, and checks and runs the examples of their READMEs there. */
function checkInstalled(packed: readonly PackedPackage[]): void {
  const project = join(folder, "project");
  mkdirSync(project);
  const tarballs = Object.fromEntries(packed.map(({ name, tarball }) => [name, `file:${tarball}`]));
  const manifest = {
    name: "project",
    private: true,
    type: "module",
    dependencies: { ...tarballs, ai: "7.0.173", zod: "4.6.7" },
  };
  writeFileSync(join(project, "package.json"), JSON.stringify(manifest, null, 2));
  run("npm", ["install", "--no-audit", "--no-fund"], project);
  step("Installed");
  const examples = packed.flatMap((each) => writeExamples(each, project));
  const withAiSdk = examples.filter((file) => /from "ai"/.test(readFileSync(file, "utf8")));
  checkTypes(
    project,
    examples.filter((file) => !withAiSdk.includes(file)),
  );
  // The AI SDK's own declarations have errors in a project without browser types.
  checkTypes(project, withAiSdk, { skipLibCheck: true });
  console.log(`  ${examples.length} examples have no type error`);
  for (const file of examples.filter(isProgram)) {
    const output = run(process.execPath, ["--disable-warning=ExperimentalWarning", file], project);
    if (output.trim() === "") fail(`${basename(file)} printed nothing.`);
  }
  console.log(`  ${examples.filter(isProgram).length} examples ran`);
  const version = run(join(project, "node_modules/.bin/bonsai"), ["--version"], project).trim();
  console.log(`  bonsai ${version} starts`);
}

function checkTypes(project: string, files: readonly string[], options: object = {}): void {
  const config = { compilerOptions: { ...compilerOptions, ...options }, files };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
  run(join(root, "node_modules/.bin/tsc"), ["-p", "."], project);
}

function writeExamples({ name, readme }: PackedPackage, project: string): string[] {
  const blocks = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);
  return blocks.map((text, at) => {
    const file = join(project, `${name.replaceAll(/\W+/g, "-")}-${at + 1}.ts`);
    writeFileSync(file, text);
    return file;
  });
}

/** A block that begins with `// example` is a whole program; others are modules for the command to load. */
function isProgram(file: string): boolean {
  return readFileSync(file, "utf8").startsWith("// example");
}

function textIn(tarball: string, file: string): string {
  return run("tar", ["-xzOf", tarball, `package/${file}`], root);
}

function kilobytes(file: string): number {
  return Math.ceil(readFileSync(file).length / 1024);
}

function run(program: string, argv: readonly string[], cwd: string): string {
  const env = { ...process.env, BONSAI_HOME: join(folder, "home") };
  const { status, stdout, stderr, error } = spawnSync(program, argv, {
    cwd,
    encoding: "utf8",
    env,
    maxBuffer: 1 << 26,
  });
  if (status === 0) return stdout;
  return fail(
    `${basename(program)} ${argv.join(" ")} failed in ${cwd}.\n${error?.message ?? ""}${stdout}${stderr}`,
  );
}

function step(text: string): void {
  console.log(styleText("bold", text));
}

function fail(message: string): never {
  if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
  console.error(message);
  process.exit(1);
}
