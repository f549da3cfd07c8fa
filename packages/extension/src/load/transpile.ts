import type { Jiti } from "jiti";
import { asEsModule } from "./es-module.ts";

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

/** Where a source cannot be parsed: jiti's parser knows the place, which Node does not tell. */
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
