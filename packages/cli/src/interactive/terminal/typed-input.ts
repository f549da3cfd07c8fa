import { sleep } from "@bonsai-agent/messages/host";
import type { Screen } from "./screen.ts";
import { decodeKittyPrintable, getKeybindings } from "./tui.ts";

/** A control character in a paste, as tmux can write it: the library reads it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it finds one
const writtenControl = /(\x1b\[\d+;5u)/;
const writtenTab = "\x1b[105;5u";
// Each alternative has one start and one end: others would search the end again for each start, for minutes.
const sequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it removes them
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)|[PX^_][^\x1b\r\n]*\x1b\\|[ -/]+[0-~])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it removes them
const untypable = /[\x00-\x09\x0b-\x1f\x7f-\x9f]/g;

const blanks = "    ";

/**
 * Removes colours and other sequences, which would reach the terminal, from a text for the editor.
 * @param tab replaces a tab. Default: four blanks
 */
export function typableText(text: string, tab: string = blanks): string {
  return text.replace(sequence, "").replace(/\r\n?/g, "\n").replaceAll("\t", tab).replace(untypable, "");
}

/** Replaces a tab in the editor, which would turn a real tab into blanks. One private character for each drawn blank. */
export const HELD_TAB = "\uf7f0\uf7f1\uf7f1\uf7f1";
export const heldTabs = /\uf7f0\uf7f1{3}/g;

export function withTabs(held: string): string {
  return held.replaceAll(HELD_TAB, "\t");
}

/** Replaces the held tabs of a drawn line with blanks. */
export function withDrawnTabs(line: string): string {
  return line.replaceAll(/[\uf7f0\uf7f1]/g, " ");
}

/** True for a control character that looks like a letter to an editor. */
export function isSteering(data: string): boolean {
  return /^[\x80-\x9f]/.test(data);
}

const pasteStart = "\x1b[200~";
const pasteEnd = "\x1b[201~";

/** The harmless text of a paste; undefined for other input. */
export function pastedText(data: string, tab: string = blanks): string | undefined {
  if (!data.startsWith(pasteStart) || !data.endsWith(pasteEnd)) return undefined;
  return data
    .slice(pasteStart.length, -pasteEnd.length)
    .replaceAll(writtenTab, "\t")
    .split(writtenControl)
    .map((part, at) => (at % 2 === 0 ? typableText(part, tab) : part))
    .join("");
}

export function asPaste(text: string): string {
  return `${pasteStart}${text}${pasteEnd}`;
}

/** The user rests after this time without a letter. */
const REST_MS = 600;
/** Maximum delay of a question. */
const MAX_WAIT_MS = 3_000;

/** Time between two looks at the user's keys. */
const LOOK_MS = 20;

/** Delays a question while the user types, so that it does not take the keys in the middle of a word. */
export class TypingRest {
  #restsAtMs = Number.NEGATIVE_INFINITY;

  constructor({ tui }: Pick<Screen, "tui">) {
    tui.addInputListener((data) => {
      if (isTypedText(data)) this.#restsAtMs = performance.now() + REST_MS;
      else if (getKeybindings().matches(data, "tui.input.submit")) this.#restsAtMs = Number.NEGATIVE_INFINITY;
      return undefined;
    });
  }

  /** Resolves once the user rests. @param signal ends the wait */
  async reached(signal: AbortSignal): Promise<void> {
    const latestMs = performance.now() + MAX_WAIT_MS;
    while (!signal.aborted) {
      const leftMs = Math.min(this.#restsAtMs, latestMs) - performance.now();
      if (leftMs <= 0) return;
      await sleep(Math.min(leftMs, LOOK_MS), signal);
    }
  }
}

/** True for a letter and for a paste. */
export function isTypedText(data: string): boolean {
  return (
    data.startsWith("\u001b[200~") || decodeKittyPrintable(data) !== undefined || /^[^\p{Cc}]+$/u.test(data)
  );
}
