import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Findings,
  filesBelow,
  importsOf,
  type Manifest,
  type Package,
  readExtensions,
  shown,
} from "./workspace.ts";

/** Modules that a first-party extension may import beside its own dependencies. */
const ALLOWED = /^(?:@bonsai-agent\/extension(?:\/(?:login|providers))?|zod|node:[a-z/_]+|\.\.?\/.*)$/;

interface ExtensionManifest extends Manifest {
  bonsai?: { extensions?: string[] };
  files?: string[];
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

/** Checks that each first-party extension is a complete package and imports only the extension API. */
export function checkFirstParty(root: string): Findings {
  const extensions = readExtensions(root);
  const names = new Set(extensions.map(({ manifest }) => manifest.name));
  return { errors: extensions.flatMap((each) => checkExtension(root, each, names)), warnings: [] };
}

function checkExtension(
  root: string,
  { directory: name, folder, manifest }: Package,
  extensions: ReadonlySet<string>,
): string[] {
  const { dependencies = {} } = manifest as ExtensionManifest;
  const missing = ["index.ts", "README.md", `test/${name}.test.ts`].filter(
    (file) => !existsSync(join(folder, file)),
  );
  return [
    ...missing.map((file) => `extensions/${name} has no ${file}`),
    ...wrongManifest(name, manifest, extensions),
    ...filesBelow(folder, [".ts"])
      .filter((file) => !file.includes("/test/"))
      .flatMap((file) => foreignImports(root, file, Object.keys(dependencies))),
  ];
}

function wrongManifest(
  name: string,
  { dependencies = {}, ...manifest }: ExtensionManifest,
  extensions: ReadonlySet<string>,
): string[] {
  // What an extension shares with another one comes with that one.
  const foreign = Object.entries(dependencies).filter(([each]) => !extensions.has(each));
  const here = `extensions/${name}/package.json`;
  const rules: [isKept: boolean, rule: string][] = [
    [manifest.name === `@bonsai-agent/${name}`, `must be named @bonsai-agent/${name}`],
    [manifest.bonsai?.extensions?.join() === "./index.ts", "must name ./index.ts in bonsai.extensions"],
    [foreign.every(isPinned), "must pin each dependency to one version"],
    [!foreign.some(isOfHost), "must not depend on zod or on our packages: the host provides them"],
    [
      manifest.peerDependencies?.["@bonsai-agent/extension"] !== undefined,
      "must name @bonsai-agent/extension as a peer dependency",
    ],
  ];
  return rules.filter(([isKept]) => !isKept).map(([, rule]) => `${here} ${rule}`);
}

function isPinned([, version]: [string, string]): boolean {
  return /^\d+\.\d+\.\d+$/.test(version);
}

function isOfHost([name]: [string, string]): boolean {
  return name === "zod" || name.startsWith("@bonsai-agent/");
}

function foreignImports(root: string, file: string, dependencies: readonly string[]): string[] {
  const isOwn = (name: string) => dependencies.some((each) => name === each || name.startsWith(`${each}/`));
  return importsOf(readFileSync(file, "utf8"))
    .filter((name) => !ALLOWED.test(name) && !isOwn(name))
    .map(
      (name) =>
        `${shown(root, file)} imports ${name}: an extension may only import @bonsai-agent/extension and its own dependencies`,
    );
}
