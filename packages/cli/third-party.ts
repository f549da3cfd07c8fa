import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Collects the libraries whose modules are in a bundle, and writes their licences. */
export class ThirdPartyNotices {
  /** The folder of each library, by its name. */
  readonly #folders = new Map<string, string>();

  /** @param modules absolute paths of bundled modules */
  add(modules: Iterable<string>): void {
    for (const path of modules) {
      const [file = ""] = path.split("?");
      if (!file.includes("/node_modules/")) continue;
      const folder = libraryFolder(dirname(file));
      if (folder !== undefined) this.#folders.set(readManifest(folder).name, folder);
    }
  }

  /** The licences as Markdown. Libraries with the same text share it. */
  text(): string {
    const names = [...this.#folders.keys()].filter((name) => !name.startsWith("@bonsai-agent/")).sort();
    const byText = Map.groupBy(names, (name) => licenceOf(this.#folders.get(name)!));
    const parts = [...byText].map(([text, sharing]) => `## ${sharing.join(", ")}\n\n\`\`\`\n${text}\n\`\`\``);
    const head = "# Third-party notices\n\nThis package contains code of the following projects.";
    return `${[head, ...parts].join("\n\n")}\n`;
  }
}

/** The nearest folder above with a named package. Some packages have a second package.json without a name. */
function libraryFolder(folder: string): string | undefined {
  if (existsSync(join(folder, "package.json")) && readManifest(folder).name !== undefined) return folder;
  const parent = dirname(folder);
  return parent === folder ? undefined : libraryFolder(parent);
}

function readManifest(folder: string): { name: string; license?: unknown } {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

function licenceOf(folder: string): string {
  const file = readdirSync(folder).find((name) => /^(licen[cs]e|copying)(\.|-|$)/i.test(name));
  const text = file === undefined ? "" : readFileSync(join(folder, file), "utf8");
  const shown = text.replaceAll("\r\n", "\n").replaceAll("```", "'''").trim();
  return shown || String(readManifest(folder).license ?? "");
}
