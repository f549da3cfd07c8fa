import { stripTypeScriptTypes } from "node:module";
import { initSync, parse } from "es-module-lexer";

/** A file of an extension as Node can run it. */
export interface RunnableSource {
  /** JavaScript. Without a map, it has the lines and columns of the file. */
  text: string;
  /** A source map, if more than types was converted. */
  map?: string;
  /** Specifiers of its imports, static and dynamic. */
  imports: readonly string[];
  /** True if it may import more than `imports` lists: by `require`, or by a specifier that is computed. */
  isOpen: boolean;
}

/** A file that Node cannot run. jiti may. */
export class NotForNode extends Error {}

/** A file with a syntax error. Line and column count from 1. */
export class SourceFailure extends SyntaxError {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  constructor({ path, line, column }: { path: string; line: number; column: number }, message: string) {
    super(message);
    this.path = path;
    this.line = line;
    this.column = column;
  }
}

export function isTypeScript(path: string): boolean {
  return /\.m?ts$/.test(path);
}

/** @throws NotForNode, SourceFailure */
export function runnableSource(path: string, source: string): RunnableSource {
  if (!isTypeScript(path)) return withImports(source);
  if (usesUndeclared("module\\.exports", source)) throw new NotForNode(`${path} is CommonJS.`);
  const { code, map } = plainJavaScript(path, source);
  const lexed = lex(code);
  const text = lexed === undefined ? code : withoutUnusedImports(code, lexed) + typeExports(source, lexed);
  return { ...withImports(commonJsNames(source) + text), ...(map === undefined ? {} : { map }) };
}

/** Defines names of CommonJS that a file uses but does not declare. Other agents give them to every file. */
function commonJsNames(source: string): string {
  const values = {
    require: "$createRequire(import.meta.url)",
    __filename: "import.meta.filename",
    __dirname: "import.meta.dirname",
  };
  const used = Object.entries(values).filter(([name]) => usesUndeclared(name, source));
  if (used.length === 0) return "";
  const declared = used.map(([name, value]) => `${name} = ${value}`).join(", ");
  return `import { createRequire as $createRequire } from "node:module"; const ${declared}; `;
}

function usesUndeclared(name: string, source: string): boolean {
  const isUsed = new RegExp(`(?<![\\w$.'"\`])${name}(?![\\w$])`).test(source);
  const word = name.replace(/\W.*/, "");
  return isUsed && !new RegExp(`(?:const|let|var|function|import)\\s[^;=(]*\\b${word}\\b`).test(source);
}

/** @throws NotForNode, SourceFailure */
function plainJavaScript(path: string, source: string): { code: string; map?: string } {
  try {
    return { code: convert(path, source, "strip") };
  } catch (error) {
    if (!(error instanceof NotForNode)) throw error;
  }
  // Converts enums, namespaces and parameter properties. Later versions of Node may lack this mode.
  const code = convert(path, source, "transform");
  const [comment = "", map] = SOURCE_MAP.exec(code) ?? [];
  if (map === undefined) return { code };
  return { code: code.slice(0, -comment.length), map: Buffer.from(map, "base64").toString() };
}

const SOURCE_MAP = /\n\/\/# sourceMappingURL=data:application\/json;base64,([\w+/=]+)\s*$/;

/** @throws SourceFailure with the place of a syntax error */
export function checkSyntax(path: string, source: string): void {
  convert(path, source, "strip");
}

function convert(path: string, source: string, mode: "strip" | "transform"): string {
  const { emitWarning } = process;
  // Hides Node's warning that the function is experimental.
  process.emitWarning = () => {};
  try {
    const text = source.replace(/^\uFEFF/, "");
    return stripTypeScriptTypes(text, { mode, sourceMap: mode === "transform" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ERR_INVALID_TYPESCRIPT_SYNTAX") throw syntaxFailure(path, error as Error);
    throw new NotForNode((error as Error).message, { cause: error });
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Node writes the line's number, the line and a row of `^` above the stack. */
function syntaxFailure(path: string, { message, stack = "" }: Error): SourceFailure {
  const line = Number(/^[^\n]*:(\d+)\n/.exec(stack)?.[1] ?? 1);
  const column = (/^( *)\^/m.exec(stack)?.[1] ?? "").length + 1;
  return new SourceFailure({ path, line, column }, message);
}

type Lexed = ReturnType<typeof parse>;

function lex(text: string): Lexed | undefined {
  try {
    initSync();
    return parse(text);
  } catch {
    // Node reports the syntax error.
    return undefined;
  }
}

function withImports(text: string): RunnableSource {
  const lexed = lex(text);
  if (lexed === undefined) return { text, imports: [], isOpen: true };
  const [imports, , , isModule] = lexed;
  const named = imports.flatMap(({ n }) => n ?? []);
  const required = isModule ? [] : [...text.matchAll(/\brequire\s*\(\s*["'](\.[^"'\n]+)["']/g)];
  const isComputed = imports.some(({ n, d }) => d >= 0 && n === undefined);
  return {
    text,
    imports: [...new Set([...named, ...required.map((match) => match[1] as string)])],
    isOpen: !isModule || isComputed || /\brequire\s*\(/.test(text),
  };
}

/** An import or a re-export that Node resolves before it runs a file. */
export interface StaticImport {
  specifier: string;
  /** Names that the module must export. */
  names: readonly string[];
}

export function staticImports(text: string): StaticImport[] {
  const [imports] = lex(text) ?? [[]];
  return imports
    .filter(({ d, n }) => d === -1 && n !== undefined)
    .map(({ n = "", ss, s }) => ({ specifier: n, names: importedNames(text.slice(ss, s - 1)) }));
}

/** The names in `import D, { a, b as c } from `, as the module calls them. */
function importedNames(clause: string): string[] {
  const inBraces = /\{([^}]*)\}/.exec(clause)?.[1] ?? "";
  const names = inBraces.split(",").flatMap((each) => each.match(IDENTIFIER)?.[0] ?? []);
  return /^import\s+[\w$]+\s*(?:,|from)/.test(clause) ? ["default", ...names] : names;
}

/**
 * Blanks imported names that no code uses, as TypeScript does: they are types that are imported like values. An import
 * of nothing but types loads no module.
 */
function withoutUnusedImports(text: string, [imports]: Lexed): string {
  const statements = imports.filter(({ d, ss }) => d === -1 && text.startsWith("import", ss));
  const code = statements.reduceRight((rest, { ss, se }) => rest.slice(0, ss) + rest.slice(se), text);
  const used = new Set(code.replace(/^\s*(?:\/\/.*|\/\*[\s\S]*?\*\/)/gm, "").match(IDENTIFIER));
  return statements.reduceRight((all, { ss, s, se }) => {
    const clause = keepUsed(all.slice(ss + "import".length, s - 1), used);
    if (clause === undefined) return all.slice(0, ss) + blank(all.slice(ss, se)) + all.slice(se);
    return `${all.slice(0, ss)}import${clause}${all.slice(s - 1)}`;
  }, text);
}

const IDENTIFIER = /[\w$\u0080-\uffff]+/g;

/** `D, { a, b as c } from `, without the names that are not used. Undefined if none is left. */
function keepUsed(clause: string, used: ReadonlySet<string>): string | undefined {
  const end = clause.search(/\bfrom\s*$/);
  // An import for its effects alone.
  if (end < 0) return clause;
  let isUsed = false;
  const bindings = clause.slice(0, end).replace(BINDING, (binding) => {
    if (!used.has(binding.match(IDENTIFIER)?.at(-1) as string)) return blank(binding);
    isUsed = true;
    return binding;
  });
  return isUsed ? bindings.replace(/,(\s*)$/, " $1") + clause.slice(end) : undefined;
}

/** A name that an import binds, after its name in the module, with the comma. */
const BINDING = /(?:(?:\*|"[^"]*"|'[^']*'|[\w$\u0080-\uffff]+)\s+as\s+)?[\w$\u0080-\uffff]+\s*,?/g;

function blank(text: string): string {
  return text.replace(/[^\r\n]/g, " ");
}

/** Exports types as undefined, for files that pass them on like values. */
function typeExports(source: string, [, exports]: Lexed): string {
  const declared = [
    ...source.matchAll(/^\s*export\s+(?:declare\s+)?(?:type|interface)\s+([\w$]+)\s*[<={e]/gm),
  ];
  const listed = [...source.matchAll(/^\s*export\s+type\s*\{([^}]*)\}/gm)].flatMap(([, names = ""]) =>
    names.split(",").flatMap((name) => name.match(/[\w$]+\s*$/)?.[0].trim() ?? []),
  );
  const values = new Set(exports.map(({ n }) => n));
  const types = new Set([...declared.map((match) => match[1] as string), ...listed]);
  const missing = [...types].filter((name) => !values.has(name));
  if (missing.length === 0) return "";
  return `\nvar $type; export { ${missing.map((name) => `$type as ${name}`).join(", ")} };`;
}
