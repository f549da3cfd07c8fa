import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

const ofPi = /^@(?:earendil-works|mariozechner)\/pi-/;
const ofBonsai = /^@bonsai-agent\//;

/**
 * True for an extension that imports a package of pi. The first of its modules that imports a package of pi or of Bonsai decides.
 * Without such an import, an extension that calls its API `pi` was written for pi.
 */
export function isWrittenForPi(path: string): boolean {
  let takesPi = false;
  for (const module of ownModules(path)) {
    if (module.imports.some((name) => ofBonsai.test(name))) return false;
    if (module.imports.some((name) => ofPi.test(name))) return true;
    takesPi ||= module.takesPi;
  }
  return takesPi;
}

/** Reading ends after this many modules. */
const MAX_MODULES = 50;
const endings = ["", ".ts", ".js", ".mts", ".mjs", ".cts", ".cjs", ".tsx", "/index.ts", "/index.js"];

/** The entry module, then the files that it imports, near ones first. Skips packages and unreadable files. */
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

/** Imports have the file's ending, no ending, or the ending of the compiled file. */
function firstText(path: string): { path: string; text: string } | undefined {
  const source = path.replace(/\.([cm]?)js$/, ".$1ts");
  for (const each of [...(source === path ? [] : [source]), ...endings.map((ending) => path + ending)]) {
    try {
      return { path: each, text: readFileSync(each, "utf8") };
    } catch {
      // Try the next ending.
    }
  }
  return undefined;
}

/** Matches texts in quotes too: they can contain the marks of comments. */
const quotedOrComment =
  /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const imported = /\b(?:from|import|require)\s*(?:\(\s*)?["']([^"'\n]+)["']/g;
/** Types of plain JavaScript are in comments. */
const importedInComment = /\{[^}\n]*\bimport\(["']([^"'\n]+)["']\)|@import\b[^\n]*["']([^"'\n]+)["']/g;

/** A function with `pi` as its first parameter, also as an argument of a call. */
const takesPi = String.raw`\s*(?:[\w$.]+\(\s*)?(?:async\b\s*)?(?:function\b[^(]*\(\s*pi\b|\(\s*pi\s*[:,)=]|pi\s*=>)`;
const exported = String.raw`(?:\bexport\s+default\b|\bmodule\.exports\s*=|\bexports\.default\s*=)`;
const exportsOneThatTakesPi = new RegExp(exported + takesPi);
const exportsName = new RegExp(
  String.raw`${exported}\s*([\w$]+)\s*(?:;|$)|\bexport\s*\{[^}]*?([\w$]+)\s+as\s+default\b`,
  "m",
);

interface ModuleText {
  /** With imports of types. */
  imports: string[];
  /** The default export calls its first argument `pi`. */
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
