import type { ChatLine } from "../chat/line-block.ts";
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
export function shownNotice({ level, message, aboutEntryId, attempt }: Told): ChatLine {
  return { text: markedText(marks[level], message), look: looks[level], aboutEntryId, attempt };
}
