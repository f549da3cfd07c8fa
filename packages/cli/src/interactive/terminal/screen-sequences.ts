/**
 * Row for row, since terminals move a screen that is erased from its beginning into the scrollback. What follows it is
 * drawn before the terminal shows anything.
 */
export const eraseBelow = "\x1b[2K\x1b7\x1b[1B\x1b[J\x1b8";

/** To the beginning of the line so many rows above; what follows is shown at once. */
export function up(rows: number): string {
  return `\x1b[?2026h\r${rows > 0 ? `\x1b[${rows}A` : ""}`;
}
