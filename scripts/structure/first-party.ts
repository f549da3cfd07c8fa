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
const ALLOWED = /^(?:@bonsai-agent\/extension(?:\/(?:login|providers|shell))?|zod|node:[a-z/_]+|\.\.?\/.*)$/;

interface ExtensionManifest extends Manifest {
  bonsai?: { extensions?: string[] };
  files?: string[];
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

/** Checks that each first-party extension is a complete package and imports only the extension API. */
export function checkFirstParty(root: string): Findings {
  return { errors: readExtensions(root).flatMap((each) => checkExtension(root, each)), warnings: [] };
}

function checkExtension(root: string, { directory: name, folder, manifest }: Package): string[] {
  const { dependencies = {} } = manifest as ExtensionManifest;
  const missing = ["index.ts", "README.md", `test/${name}.test.ts`].filter(
    (file) => !existsSync(join(folder, file)),
  );
  return [
    ...missing.map((file) => `extensions/${name} has no ${file}`),
    ...wrongManifest(name, manifest),
    ...filesBelow(folder, [".ts"])
      .filter((file) => !file.includes("/test/"))
      .flatMap((file) => foreignImports(root, file, Object.keys(dependencies))),
  ];
}

function wrongManifest(name: string, manifest: ExtensionManifest): string[] {
  const here = `extensions/${name}/package.json`;
  const rules: [isKept: boolean, rule: string][] = [
    [manifest.name === `@bonsai-agent/${name}`, `must be named @bonsai-agent/${name}`],
    [manifest.bonsai?.extensions?.join() === "./index.ts", "must name ./index.ts in bonsai.extensions"],
    [isPinned(manifest), "must pin each dependency to one version"],
    [!isOfHost(manifest), "must not depend on zod or on our packages: the host provides them"],
    [
      manifest.peerDependencies?.["@bonsai-agent/extension"] !== undefined,
      "must name @bonsai-agent/extension as a peer dependency",
    ],
  ];
  return rules.filter(([isKept]) => !isKept).map(([, rule]) => `${here} ${rule}`);
}

function isPinned({ dependencies = {} }: ExtensionManifest): boolean {
  return Object.values(dependencies).every((version) => /^\d+\.\d+\.\d+$/.test(version));
}

function isOfHost({ dependencies = {} }: ExtensionManifest): boolean {
  return Object.keys(dependencies).some((name) => name === "zod" || name.startsWith("@bonsai-agent/"));
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
