import type { Told } from "../interactive-work.ts";
import type { Theme } from "../theme/theme.ts";

const looks = { info: "muted", warning: "warning", error: "error" } as const;
const marks = { info: "i", warning: "!", error: "✗" } as const;

/** A notice as the chat shows it: the mark says what it is where there are no colours. */
export function noticeText({ level, message }: Told, { style }: Theme): string {
  return message
    .split("\n")
    .map((line, at) => style[looks[level]](`${at === 0 ? marks[level] : " "} ${line}`))
    .join("\n");
}
