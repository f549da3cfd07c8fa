import { shortened, textHead, withoutTerminalControls } from "@bonsai-agent/extension";

/** Control characters except line breaks and tabs, and marks that reverse the direction of a text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are searched for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** A text of a server without characters that steer a terminal. */
export function plainText(text: string): string {
  return withoutTerminalControls(text).replaceAll("\r\n", "\n").replaceAll(controls, "");
}

/** The same on one line, for names and messages. */
export function plainLine(text: string, maxChars = 300): string {
  const line = plainText(textHead(text, 4 * maxChars))
    .replaceAll(/\s+/g, " ")
    .trim();
  return shortened(line, maxChars);
}

/** The beginning of a long text, and the length of the rest. */
export function plainPart(text: string, maxChars: number): string {
  if (text.length <= maxChars) return plainText(text).trim();
  const left = (text.length - maxChars).toLocaleString("en-US");
  return `${plainText(textHead(text, maxChars)).trim()}\n… ${left} more characters`;
}
