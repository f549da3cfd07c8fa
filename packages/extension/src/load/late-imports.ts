const pattern = /\bimport\s*\(\s*(["'])(\.{1,2}\/[^"'\n]+)\1\s*\)/g;

/** Local files that a module imports while it runs, as far as it names them. */
export function lateImports(source: string): string[] {
  return [...new Set([...source.matchAll(pattern)].map((match) => match[2] as string))];
}
