import { withoutTerminalControls } from "@bonsai-agent/messages";
import { printableLines } from "../../views/printable.ts";

/** Beyond it, a line is data: a minified file has a megabyte of it. */
const MAX_LINE_CHARS = 4_000;

/** The lines of what a command put out, as they came. */
export function outputLines(output: string): string[] {
  const text = output.trimEnd();
  return text === "" ? [] : text.split("\n").map((line) => line.replace(/(?<!\r)\r+$/, ""));
}

/** How such a line stands on a terminal in the end, without what would steer it. */
export function shownLine(line: string): string {
  const { length } = line;
  const cut = length > MAX_LINE_CHARS * 2 ? line.slice(0, MAX_LINE_CHARS * 2) : line;
  // Each return began the line anew: of a progress bar, its last state is seen.
  const last = length === cut.length ? cut.slice(cut.lastIndexOf("\r") + 1) : cut;
  const text = printableLines(withoutTerminalControls(last)).join(" ");
  return text.length > MAX_LINE_CHARS ? `${text.slice(0, MAX_LINE_CHARS)}…` : text;
}
