/** Terminals take a sequence of 100,000 bytes and cut or drop a longer one: as base64, this much of a text. */
export const mostCopiedBytes = 74_994;

/**
 * What asks the terminal to put a text on its clipboard (OSC 52), through tmux where it runs in one; undefined for a text
 * that is too long. Nobody answers whether it did.
 */
export function textForTerminal(
  text: string,
  { TMUX, STY }: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const bytes = Buffer.from(text);
  if (bytes.length > mostCopiedBytes) return undefined;
  const sequence = `\x1b]52;c;${bytes.toString("base64")}\x07`;
  // tmux takes it itself with set-clipboard on, and passes it on with allow-passthrough on.
  if (TMUX) return `${sequence}\x1bPtmux;${sequence.replaceAll("\x1b", "\x1b\x1b")}\x1b\\`;
  return STY ? screenPieces(sequence) : sequence;
}

/** GNU screen passes on strings of no more than some hundred bytes; the terminal joins them. */
function screenPieces(sequence: string): string {
  const pieces = sequence.match(/.{1,240}/gs) ?? [];
  return pieces.map((piece) => `\x1bP${piece}\x1b\\`).join("");
}
