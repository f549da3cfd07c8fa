import { Console } from "node:console";

/**
 * Standard output belongs to the answer, or to lines of JSON: what extensions print, with `console` or by themselves,
 * goes to standard error.
 */
export function keepOutputApart(): void {
  globalThis.console = new Console(process.stderr, process.stderr);
  process.stdout.write = process.stderr.write.bind(process.stderr);
}
