import { Console } from "node:console";

/**
 * Standard output belongs to the answer, or to lines of JSON: what extensions print with `console` goes to standard
 * error.
 */
export function keepConsoleApart(): void {
  globalThis.console = new Console(process.stderr, process.stderr);
}
