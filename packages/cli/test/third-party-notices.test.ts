import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

interface Manifest {
  name: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

const cli = fileURLToPath(new URL("..", import.meta.url));

/** Of these, types alone are used, or nothing that is reached, or only tests use them. */
const notBundled = [
  "@xterm/headless",
  "@babel/runtime",
  "@tokenizer/token",
  "argparse",
  "ieee754",
  "json-schema-to-ts",
  "ts-algebra",
];

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

function installed(name: string, from: string): string {
  const folder = join(from, "node_modules", name);
  return existsSync(folder) ? realpathSync(folder) : installed(name, dirname(from));
}

/** Everything that the bundle is made of: the command's own dependencies, and theirs. */
function dependencies(): Set<string> {
  const found = new Set<string>();
  const visit = (name: string, from: string): void => {
    const folder = installed(name, from);
    const manifest = manifestOf(folder);
    if (found.has(manifest.name)) return;
    found.add(manifest.name);
    for (const each of Object.keys(manifest.dependencies ?? {})) visit(each, folder);
  };
  for (const name of Object.keys(manifestOf(cli).devDependencies ?? {})) visit(name, cli);
  const page = installed("@bonsai-agent/page", cli);
  for (const name of browserImports(join(page, "browser"))) visit(name, page);
  return found;
}

/** The packages that the program of a page imports: it is built into the command as a file of its own. */
function browserImports(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  const sources = files.map((file) => readFileSync(join(folder, file), "utf8"));
  const imports = sources.flatMap((source) => [...source.matchAll(/from "((?:@[\w-]+\/)?[\w][\w.-]*)/g)]);
  return [...new Set(imports.map(([, name]) => name!))];
}

test("THIRD-PARTY-NOTICES.md names everything that the bundle contains, and nothing else", () => {
  const text = readFileSync(join(cli, "THIRD-PARTY-NOTICES.md"), "utf8").replaceAll(
    /^```$[\s\S]*?^```$/gm,
    "",
  );
  const named = [...text.matchAll(/^## (.+)$/gm)].map(([, name]) => name);
  const contained = [...dependencies()].filter(
    (name) => !name.startsWith("@bonsai-agent/") && !notBundled.includes(name),
  );
  expect(named).toEqual(contained.toSorted());
});
