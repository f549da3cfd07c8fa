import type { Told } from "../interactive-work.ts";
import type { StyleName } from "../theme/theme.ts";

const looks: Readonly<Record<Told["level"], StyleName>> = {
  info: "muted",
  warning: "warning",
  error: "error",
};
const marks: Readonly<Record<Told["level"], string>> = { info: "i", warning: "!", error: "✗" };

/** A notice as the chat shows it: the mark says what it is where there are no colours. */
export function shownNotice({ level, message }: Told): [text: string, look: StyleName] {
  const text = message
    .split("\n")
    .map((line, at) => `${at === 0 ? marks[level] : " "} ${line}`)
    .join("\n");
  return [text, looks[level]];
}
