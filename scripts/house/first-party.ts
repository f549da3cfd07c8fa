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

/** What a first-party extension may import beside its own dependencies: what an extension of anybody's may. */
const ALLOWED = /^(?:@bonsai-agent\/extension(?:\/(?:login|providers|shell))?|zod|node:[a-z/_]+|\.\.?\/.*)$/;

interface ExtensionManifest extends Manifest {
  bonsai?: { extensions?: string[] };
  files?: string[];
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

/** Each first-party extension is small, a package of its own, and stands on the extension API alone. */
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
    [manifest.name === `@bonsai-agent/${name}`, `is called @bonsai-agent/${name}`],
    [manifest.bonsai?.extensions?.join() === "./index.ts", "names ./index.ts in bonsai.extensions"],
    [isPinned(manifest), "names each dependency by one version"],
    [!isOfHost(manifest), "leaves to the host what that gives: our own packages and zod"],
    [manifest.peerDependencies?.["@bonsai-agent/extension"] !== undefined, "has the extension API as a peer"],
  ];
  return rules.filter(([isKept]) => !isKept).map(([, rule]) => `${here} does not keep the rule: it ${rule}`);
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
        `${shown(root, file)} imports ${name}: extensions stand on @bonsai-agent/extension and their dependencies`,
    );
}
