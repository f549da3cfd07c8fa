import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type ModuleText, readModule } from "./module-text.ts";

/** An extension is a handful of files; whoever brings more has said what it is by then. */
const MAX_MODULES = 50;
const endings = ["", ".ts", ".js", ".mts", ".mjs", ".cts", ".cjs", ".tsx", "/index.ts", "/index.js"];

/** The entry module, then the files that it imports, near ones first; packages and what cannot be read are left out. */
export function* ownModules(entry: string): Iterable<ModuleText> {
  const waiting = [entry];
  const seen = new Set<string>();
  for (let path = waiting.shift(); path !== undefined && seen.size < MAX_MODULES; path = waiting.shift()) {
    const found = firstText(path);
    if (found === undefined || seen.has(found.path)) continue;
    seen.add(found.path);
    const module = readModule(found.text);
    yield module;
    for (const name of module.imports)
      if (/^\.{1,2}(?:\/|$)/.test(name)) waiting.push(resolve(dirname(found.path), name));
  }
}

/** As imports are written: with the ending, without it, or with that of the file it is compiled to. */
function firstText(path: string): { path: string; text: string } | undefined {
  const source = path.replace(/\.([cm]?)js$/, ".$1ts");
  for (const each of [...(source === path ? [] : [source]), ...endings.map((ending) => path + ending)]) {
    try {
      return { path: each, text: readFileSync(each, "utf8") };
    } catch {
      // The next ending; whoever loads the module says why it cannot be read.
    }
  }
  return undefined;
}
