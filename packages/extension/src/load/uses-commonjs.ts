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
