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
 * anything runs. Types that another module re-exports are no such names: nobody can tell them from values.
 */
export function asEsModule(body: string): string {
  const imports = importsOf(body);
  const live = new Set([...body.matchAll(OWN_EXPORT)].map((match) => match[1] as string));
  const passedOn = new Set([...body.matchAll(RE_EXPORT)].map((match) => match[1] as string));
  for (const name of passedOn) live.delete(name);
  live.delete("__esModule");
  const isWhole = WHOLE_EXPORT.test(body) && !live.has("default") && !passedOn.has("default");
  const stars = new Set([...body.matchAll(STAR_EXPORT)].map((match) => match[1]));
  const ownNames = [...live, ...passedOn];
  const head = [
    `import { createRequire as $createRequire } from "node:module";`,
    ...imports.map(({ specifier }, index) => `import * as $m${index} from ${specifier};`),
    ...imports.flatMap(({ specifier, names }, index) =>
      names.map((name, at) => `import { ${name} as $c${index}_${at} } from ${specifier};`),
    ),
    ...imports
      .filter(({ variable }) => stars.has(variable))
      .map(({ specifier }) => `export * from ${specifier};`),
    ...ownNames.map((name, at) => `let $e${at}; export { $e${at} as ${name} };`),
    "const exports = {}, module = { exports };",
    ...[...live].map(
      (name, at) =>
        `Object.defineProperty(exports, "${name}", { enumerable: true, configurable: true, get: () => $e${at}, set: (v) => { $e${at} = v; } });`,
    ),
    `const $modules = { __proto__: null, ${imports.map(({ specifier }, index) => `${specifier}: $m${index}`).join(", ")} };`,
    ...(isWhole ? ["let $whole; export { $whole as default };"] : []),
    "await (async (exports, module, require, jitiImport, __filename, __dirname) => {",
    // A block of its own: the body may declare these names itself.
    "{",
  ].join(" ");
  const passed = [...passedOn].map((name, at) => `$e${live.size + at} = exports.${name};`).join(" ");
  const given = [
    "exports, module, $createRequire(import.meta.url)",
    "(name) => $modules[name] ?? import(name), import.meta.filename, import.meta.dirname",
  ].join(", ");
  const whole = isWhole ? "$whole = module.exports;" : "";
  return `${head} ${body}\n}})(${given}); ${passed} ${whole}`;
}

interface StaticImport {
  /** What the body calls it. */
  variable: string | undefined;
  /** With its quotes. */
  specifier: string;
  /** What the body reads from it. */
  names: string[];
}

function importsOf(body: string): StaticImport[] {
  const found = [...body.matchAll(STATIC_IMPORT)].map((match) => ({
    variable: match[1],
    specifier: match[2] as string,
  }));
  const text = body.replace(RE_EXPORT, "");
  return found.map(({ variable, specifier }) => ({
    variable,
    specifier,
    names: variable === undefined ? [] : namesRead(text, variable),
  }));
}

function namesRead(text: string, variable: string): string[] {
  const read = new RegExp(`(?<![\\w$.])${variable.replaceAll("$", "\\$")}\\.([A-Za-z_$][\\w$]*)`, "g");
  return [...new Set([...text.matchAll(read)].map((match) => match[1] as string))];
}
