/** A control character in a paste, as tmux can write it: the library reads it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const writtenControl = /(\x1b\[\d+;5u)/;
// Each begins and ends in one way: others look for the end of each beginning anew, for minutes.
const sequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)|[PX^_][^\x1b\r\n]*\x1b\\|[ -/]+[0-~])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const untypable = /[\x00-\x09\x0b-\x1f\x7f-\x9f]/g;

/** The text as it may stand in an editor: without colours and other sequences, which would reach the terminal. */
export function typableText(text: string): string {
  return text.replace(sequence, "").replace(/\r\n?/g, "\n").replaceAll("\t", "    ").replace(untypable, "");
}

/** True for one of the control characters that look like a letter to an editor. @param data of the terminal */
export function isSteering(data: string): boolean {
  return /^[\x80-\x9f]/.test(data);
}

const pasteStart = "\x1b[200~";
const pasteEnd = "\x1b[201~";

/** What is pasted, as it may stand in an editor; undefined for what is no paste. @param data of the terminal */
export function pastedText(data: string): string | undefined {
  if (!data.startsWith(pasteStart) || !data.endsWith(pasteEnd)) return undefined;
  return data
    .slice(pasteStart.length, -pasteEnd.length)
    .split(writtenControl)
    .map((part, at) => (at % 2 === 0 ? typableText(part) : part))
    .join("");
}

/** As the terminal sends a paste. */
export function asPaste(text: string): string {
  return `${pasteStart}${text}${pasteEnd}`;
}
