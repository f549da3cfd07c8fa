/** Terminals cut or drop a sequence of more than 100,000 bytes; the text is sent as base64. */
export const MAX_COPIED_BYTES = 74_994;

/** The sequence that copies a text with the terminal (OSC 52), also through tmux; undefined for a text that is too long. */
export function textForTerminal(
  text: string,
  { TMUX, STY }: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_COPIED_BYTES) return undefined;
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
