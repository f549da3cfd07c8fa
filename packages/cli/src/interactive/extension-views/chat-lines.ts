import type { DrawnComponent } from "@bonsai-agent/extension";
import { drawnLines } from "./drawn-lines.ts";

/** Beyond it, nobody reads in a chat. */
const mostLines = 2_000;

/** Lines that fit; undefined where nothing was drawn. */
export function chatLines(drawn: DrawnComponent | undefined, width: number): string[] | undefined {
  const lines = drawn?.render(width);
  if (lines === undefined) return undefined;
  const shown = drawnLines(lines.slice(0, mostLines), width);
  const left = lines.length - mostLines;
  return left > 0 ? [...shown, ...drawnLines([` … ${left} more lines`], width)] : shown;
}
