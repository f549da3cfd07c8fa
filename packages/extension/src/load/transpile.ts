import type { Jiti } from "jiti";

/**
 * TypeScript that has to be rewritten, not only stripped: enums, parameter properties, namespaces, decorators, types
 * that are imported like values. jiti rewrites it; what it makes is put into an ES module again, so that such a file
 * takes part in the same graph as all others, and its imports are checked when they are linked.
 */
let jiti: Jiti | undefined;
/** By path; a file that has not changed is not rewritten at a reload. */
const cache = new Map<string, { source: string; module: string }>();

/** To be awaited before the first `transpile`. */
export async function loadTranspiler(): Promise<void> {
  if (jiti !== undefined) return;
  // With its parser linked, not read from a file at run time: a bundle has no such file.
  const { createJiti } = await import("jiti/static");
  jiti = createJiti(import.meta.url, { fsCache: false, moduleCache: false, interopDefault: false });
}

export function cachedTranspile(path: string, source: string): string | undefined {
  const cached = cache.get(path);
  return cached?.source === source ? cached.module : undefined;
}

/** @throws ParseFailure */
export function transpile(path: string, source: string): string {
  const cached = cachedTranspile(path, source);
  if (cached !== undefined) return cached;
  const module = asEsModule(rewrite(path, source));
  cache.set(path, { source, module });
  return module;
}

/** Where a source cannot be parsed: jiti's parser knows the place, which Node does not give. */
export class ParseFailure extends SyntaxError {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  constructor({
    path,
    line,
    column,
    message,
  }: { path: string; line: number; column: number; message: string }) {
    super(message.trim());
    this.path = path;
    this.line = line;
    this.column = column;
  }
}

/** @throws ParseFailure */
function rewrite(path: string, source: string): string {
  if (jiti === undefined) throw new Error("The transpiler is not loaded.");
  const ts = /\.[cm]?tsx?$/.test(path);
  const code = jiti.transform({ source, filename: path, ts, async: true, retainLines: true });
  const failure = /^exports\.__JITI_ERROR__ = (\{.*\})/m.exec(code)?.[1];
  if (failure === undefined) return code;
  const { line, column, message } = JSON.parse(failure) as { line: number; column: number; message: string };
  throw new ParseFailure({ path, line, column, message });
}

const STATIC_IMPORT = /(?:var ([\w$]+) = )?await jitiImport\(("(?:[^"\\]|\\.)*")\)/g;
const RE_EXPORT =
  /Object\.defineProperty\(exports, "([^"]+)", \{ enumerable: true, get: function \(\) \{return [^}]*\} ?\}\);/g;
const STAR_EXPORT = /Object\.keys\(([\w$]+)\)\.forEach\(function \(key\) \{if \(key === "default"/g;
const WHOLE_EXPORT = /(?<![\w$.])module\.exports\s*=(?!=)/;
const OWN_EXPORT = /\bexports\.([\w$]+) = /g;

/**
 * An ES module around what jiti makes of one: the body of an async function that takes its imports from `jitiImport`
 * and assigns to `exports`. All of it stands on the body's first line, so that lines keep their numbers.
 *
 * Each name that the body takes from a module is imported by that name too, so that a missing one is an error before
 * anything runs. Types that another module re-exports are no such names: they look like values.
 */
function asEsModule(body: string): string {
  const imports = importsOf(body);
  const { assigned, passedOn, isWhole } = exportsOf(body);
  const head = [
    `import { createRequire as $createRequire } from "node:module";`,
    ...importLines(body, imports),
    ...[...assigned, ...passedOn].map((name, at) => `let $e${at}; export { $e${at} as ${name} };`),
    "const exports = {}, module = { exports };",
    ...assigned.map((name, at) => `Object.defineProperty(exports, "${name}", ${accessors(`$e${at}`)});`),
    `const $modules = { __proto__: null, ${imports.map(({ specifier }, at) => `${specifier}: $m${at}`).join(", ")} };`,
    ...(isWhole ? ["let $whole; export { $whole as default };"] : []),
    "await (async (exports, module, require, jitiImport, __filename, __dirname) => {",
    // A block of its own: the body may declare these names itself.
    "{",
  ];
  const given = [
    "exports, module, $createRequire(import.meta.url)",
    "(name) => $modules[name] ?? import(name), import.meta.filename, import.meta.dirname",
  ];
  const tail = [
    ...passedOn.map((name, at) => `$e${assigned.length + at} = exports.${name};`),
    ...(isWhole ? ["$whole = module.exports;"] : []),
  ];
  return `${head.join(" ")} ${body}\n}})(${given.join(", ")}); ${tail.join(" ")}`;
}

/** Names that the body assigns, now and later; those that come from another module; `module.exports = …`. */
function exportsOf(body: string) {
  const names = (pattern: RegExp) => [...new Set([...body.matchAll(pattern)].map((match) => match[1]!))];
  const passedOn = names(RE_EXPORT);
  const assigned = names(OWN_EXPORT).filter((name) => name !== "__esModule" && !passedOn.includes(name));
  const isWhole = WHOLE_EXPORT.test(body) && ![...assigned, ...passedOn].includes("default");
  return { assigned, passedOn, isWhole };
}

/** So that what the body assigns later is seen by those who imported it. */
function accessors(variable: string): string {
  return `{ enumerable: true, configurable: true, get: () => ${variable}, set: (v) => { ${variable} = v; } }`;
}

function importLines(body: string, imports: ReturnType<typeof importsOf>): string[] {
  const stars = new Set([...body.matchAll(STAR_EXPORT)].map((match) => match[1]));
  return imports.flatMap(({ specifier, variable, names }, index) => [
    `import * as $m${index} from ${specifier};`,
    ...names.map((name, at) => `import { ${name} as $c${index}_${at} } from ${specifier};`),
    ...(stars.has(variable) ? [`export * from ${specifier};`] : []),
  ]);
}

/** What the body calls a module, its specifier with its quotes, and what the body reads from it. */
function importsOf(body: string) {
  const text = body.replace(RE_EXPORT, "");
  return [...body.matchAll(STATIC_IMPORT)].map(([, variable, specifier]) => ({
    variable,
    specifier: specifier!,
    names: variable === undefined ? [] : namesRead(text, variable),
  }));
}

function namesRead(text: string, variable: string): string[] {
  const read = new RegExp(`(?<![\\w$.])${variable.replaceAll("$", "\\$")}\\.([A-Za-z_$][\\w$]*)`, "g");
  return [...new Set([...text.matchAll(read)].map((match) => match[1]!))];
}

const names =
  /(?<![\w$.'"`])(?:(__dirname|__filename)(?![\w$])|(require)\s*\(\s*["'`]|(module)\.exports(?![\w$]))/g;

/**
 * True where TypeScript leans on what a CommonJS module is given and an ES module is not, and does not make it itself.
 * Other agents' loaders give it to both.
 */
export function usesCommonJs(source: string): boolean {
  const used = new Set([...source.matchAll(names)].map((match) => match[1] ?? match[2] ?? match[3]));
  return [...used].some(
    (name) => !new RegExp(`(?:const|let|var|function|import)\\s[^;=(]*\\b${name}\\b`).test(source),
  );
}
