import { withoutTerminalControls } from "@bonsai-agent/messages";

/** An unfinished line or escape sequence is not held back beyond this. */
const MAX_PENDING_CHARS = 16_384;
/** Of what is no text, the share from which on an output is binary. */
const BINARY_SHARE = 0.2;

/**
 * Makes plain text of what a program wrote for a terminal: no colours, no overwritten progress bars, no control
 * characters. Takes bytes as they come.
 */
export class TerminalText {
  readonly #decoder = new TextDecoder();
  #pending = "";
  #seenChars = 0;
  #junkChars = 0;

  /** The lines that are finished by now. */
  push(bytes: Buffer): string {
    this.#pending += this.#decoder.decode(bytes, { stream: true });
    const end = this.#pending.lastIndexOf("\n") + 1;
    if (end === 0 && this.#pending.length <= MAX_PENDING_CHARS) return "";
    // A very long line goes out in pieces.
    return this.#take(this.#pending.length - end > MAX_PENDING_CHARS ? this.#pending.length : end);
  }

  /** The rest, when nothing more will come. */
  end(): string {
    this.#pending += this.#decoder.decode();
    return this.#take(this.#pending.length);
  }

  get isBinary(): boolean {
    return this.#junkChars > this.#seenChars * BINARY_SHARE;
  }

  #take(end: number): string {
    const raw = this.#pending.slice(0, end);
    this.#pending = this.#pending.slice(end);
    this.#seenChars += raw.length;
    this.#junkChars += junkIn(raw);
    return this.#clean(raw);
  }

  #clean(raw: string): string {
    const plain = withoutTerminalControls(raw);
    const lines = plain.includes("\r") ? overwritten(plain) : plain;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to go
    return erased(lines).replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
  }
}

/** A carriage return starts the line anew: the last version is what a terminal shows. */
function overwritten(text: string): string {
  return text.split("\n").map(lastVersion).join("\n");
}

function lastVersion(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end -= 1;
  return line.slice(end === 0 ? 0 : line.lastIndexOf("\r", end - 1) + 1, end);
}

/** Overstruck characters, as manual pages use them for bold. */
function erased(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: backspace is meant
  return text.includes("\b") ? text.replaceAll(/[^\n]?\u0008/g, "") : text;
}

function junkIn(text: string): number {
  let junk = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const isLayout = (code >= 7 && code <= 13) || code === 27;
    if (code === 0xfffd || (code < 32 && !isLayout)) junk += 1;
  }
  return junk;
}
