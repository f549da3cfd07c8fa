import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

const ofPi = /^@(?:earendil-works|mariozechner)\/pi-/;
const ofBonsai = /^@bonsai-agent\//;

/**
 * True for an extension whose modules import a package of pi, the entry module or those next to it first, and at the
 * same place none of ours. Where none of them imports either, for one that calls the API `pi`, as pi's documents do.
 * A few shapes mean different things here and there; an extension gets those that it was written for.
 */
export function writtenForPi(path: string): boolean {
  let takesPi = false;
  for (const module of ownModules(path)) {
    if (module.imports.some((name) => ofBonsai.test(name))) return false;
    if (module.imports.some((name) => ofPi.test(name))) return true;
    takesPi ||= module.takesPi;
  }
  return takesPi;
}

/** An extension is a handful of files; whoever brings more has said what it is by then. */
const MAX_MODULES = 50;
const endings = ["", ".ts", ".js", ".mts", ".mjs", ".cts", ".cjs", ".tsx", "/index.ts", "/index.js"];

/** The entry module, then the files that it imports, near ones first; packages and what cannot be read are left out. */
function* ownModules(entry: string): Iterable<ModuleText> {
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

/** Texts in quotes stay, so that what looks like a comment in them does; comments go. */
const quotedOrComment =
  /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const imported = /\b(?:from|import|require)\s*(?:\(\s*)?["']([^"'\n]+)["']/g;
/** In the types of plain JavaScript, which stand in comments. */
const importedInComment = /\{[^}\n]*\bimport\(["']([^"'\n]+)["']\)|@import\b[^\n]*["']([^"'\n]+)["']/g;

/** A function whose first parameter is `pi`, perhaps handed to another. */
const takesPi = String.raw`\s*(?:[\w$.]+\(\s*)?(?:async\b\s*)?(?:function\b[^(]*\(\s*pi\b|\(\s*pi\s*[:,)=]|pi\s*=>)`;
const exported = String.raw`(?:\bexport\s+default\b|\bmodule\.exports\s*=|\bexports\.default\s*=)`;
const exportsOneThatTakesPi = new RegExp(exported + takesPi);
const exportsName = new RegExp(
  String.raw`${exported}\s*([\w$]+)\s*(?:;|$)|\bexport\s*\{[^}]*?([\w$]+)\s+as\s+default\b`,
  "m",
);

/** What shows of a module in its text, without knowing its grammar. */
interface ModuleText {
  /** What it imports, also for types alone. */
  imports: string[];
  /** True where what it exports calls its first argument `pi`. */
  takesPi: boolean;
}

function readModule(text: string): ModuleText {
  const code = text.replaceAll(quotedOrComment, "$1");
  const found = [...code.matchAll(imported), ...text.matchAll(importedInComment)];
  return {
    imports: found.map(([, name, inComment]) => name ?? inComment!),
    takesPi: exportsOneThatTakesPi.test(code) || isNamedOneThatTakesPi(code),
  };
}

function isNamedOneThatTakesPi(code: string): boolean {
  const match = exportsName.exec(code);
  const name = match?.[1] ?? match?.[2];
  if (name === undefined) return false;
  const escaped = name.replaceAll("$", "\\$");
  const declared = String.raw`\bfunction\s+${escaped}\b[^(]*\(\s*pi\b|\b(?:const|let|var)\s+${escaped}\b[^=]*=${takesPi}`;
  return new RegExp(declared).test(code);
}
