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

/** A file that Node cannot run: CommonJS, decorators, a syntax error. jiti runs it, or reports the error. */
export class NotForNode extends Error {}

export function isTypeScript(path: string): boolean {
  return /\.m?ts$/.test(path);
}

/** @throws NotForNode */
export function runnableSource(path: string, source: string): RunnableSource {
  if (!isTypeScript(path)) {
    const lexed = lex(source);
    if (lexed?.[3] === false && /\b(?:module|exports|require)\b/.test(source))
      throw new NotForNode(`${path} is CommonJS.`);
    return withImports(source, lexed);
  }
  if (usesUndeclared("module\\.exports", source)) throw new NotForNode(`${path} is CommonJS.`);
  const { code, map } = convert(source);
  const lexed = lex(code);
  const used = lexed === undefined ? code : withoutUnusedImports(code, lexed) + typeExports(source, lexed);
  const text = commonJsNames(source) + used;
  return { ...withImports(text, lex(text)), ...(map === undefined ? {} : { map }) };
}

/**
 * Defines names of CommonJS that a file uses but does not declare. Other agents give them to every file. The word
 * `require` is in many texts and comments, so such a file must not go to jiti: pi-subagents has 255 files.
 */
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

/**
 * Strips types, or else converts enums, namespaces and parameter properties, which three of pi's ten most used packages
 * have. With jiti, their starts took four times as long.
 * @throws NotForNode
 */
function convert(source: string): { code: string; map?: string } {
  const { emitWarning } = process;
  // Hides Node's warning that the function is experimental.
  process.emitWarning = () => {};
  const text = source.replace(/^\uFEFF/, "");
  try {
    return { code: stripTypeScriptTypes(text) };
  } catch {
    return transformed(text);
  } finally {
    process.emitWarning = emitWarning;
  }
}

const SOURCE_MAP = /\n\/\/# sourceMappingURL=data:application\/json;base64,([\w+/=]+)\s*$/;

/** Later versions of Node may lack this mode. @throws NotForNode */
function transformed(text: string): { code: string; map?: string } {
  try {
    const code = stripTypeScriptTypes(text, { mode: "transform", sourceMap: true });
    const [comment = "", map] = SOURCE_MAP.exec(code) ?? [];
    if (map === undefined) return { code };
    return { code: code.slice(0, -comment.length), map: Buffer.from(map, "base64").toString() };
  } catch (cause) {
    throw new NotForNode((cause as Error).message, { cause });
  }
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

function withImports(text: string, lexed: Lexed | undefined): RunnableSource {
  if (lexed === undefined) return { text, imports: [], isOpen: true };
  const [imports] = lexed;
  const isComputed = imports.some(({ n, d }) => d >= 0 && n === undefined);
  return {
    text,
    imports: [...new Set(imports.flatMap(({ n }) => n ?? []))],
    isOpen: isComputed || /\brequire\s*\(/.test(text),
  };
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
