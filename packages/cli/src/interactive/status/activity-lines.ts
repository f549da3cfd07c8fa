import { visibleWidth } from "../terminal/tui.ts";
import type { Theme } from "../theme/theme.ts";
import type { Doing } from "./activity-model.ts";
import { cutText } from "./cut-text.ts";
import { elapsed } from "./elapsed.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** One line: a sign that turns, what goes on, for how long. The time stays when the text has to give way. */
export function activityLines(
  { text, sinceMs }: Doing,
  { nowMs, frame, width, theme }: { nowMs: number; frame: number; width: number; theme: Theme },
): string[] {
  const { style } = theme;
  const time = `  ${elapsed(nowMs - sinceMs)}`;
  const sign = ` ${frames[frame % frames.length]} `;
  const room = width - visibleWidth(sign) - visibleWidth(time);
  if (room < 1) return ["", cutText(sign, width)];
  return ["", `${style.accent(sign)}${style.muted(cutText(text, room))}${style.dim(time)}`];
}
