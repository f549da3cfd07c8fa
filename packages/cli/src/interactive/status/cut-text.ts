import { stripTerminalSequences, truncateToWidth } from "../terminal/tui.ts";

/** A plain text in at most so many columns, as the terminal counts them; the cut ends nobody's style. */
export function cutText(text: string, columns: number): string {
  return columns < 1 ? "" : stripTerminalSequences(truncateToWidth(text, columns, "…"));
}
