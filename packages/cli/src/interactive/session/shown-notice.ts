import { markedText } from "../chat/marked-text.ts";
import type { Told } from "../interactive-work.ts";
import type { StyleName } from "../theme/theme.ts";

const looks: Readonly<Record<Told["level"], StyleName>> = {
  info: "muted",
  warning: "warning",
  error: "error",
};
const marks: Readonly<Record<Told["level"], string>> = { info: "i", warning: "!", error: "✗" };

/** A notice as the chat shows it: the mark says what it is where there are no colours. */
export function shownNotice({
  level,
  message,
  aboutEntryId,
}: Told): [text: string, look: StyleName, aboutEntryId: string | undefined] {
  return [markedText(marks[level], message), looks[level], aboutEntryId];
}
