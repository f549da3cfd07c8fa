import { truncateToWidth, visibleWidth } from "../terminal/tui.ts";
import type { Style } from "../theme/theme.ts";

/** A piece of a line that may have to give way. */
export interface Part {
  /** From the longest to the shortest; the first is what one would like to show. */
  forms: readonly string[];
  style: Style;
  /** The least important part becomes shorter first, and then goes first. */
  importance: number;
  /** Default "left". */
  side?: "left" | "right";
}

interface Shown {
  part: Part;
  form: number;
}

const GAP = "  ";

/** One line of exactly the parts that have room, those of the right at its right end; "" where there are none. */
export function fitParts(parts: readonly Part[], width: number): string {
  let shown: Shown[] = parts.map((part) => ({ part, form: 0 }));
  while (shown.length > 0 && widthOf(shown) > width) {
    const least = shown.reduce((a, b) => (b.part.importance < a.part.importance ? b : a));
    const form = least.form + 1;
    if (form < least.part.forms.length)
      shown = shown.map((each) => (each === least ? { ...least, form } : each));
    else if (shown.length > 1) shown = shown.filter((each) => each !== least);
    else return least.part.style(truncateToWidth(textOf(least), width, "…"));
  }
  return joined(shown, width);
}

function joined(shown: readonly Shown[], width: number): string {
  const side = (wanted: "left" | "right") =>
    shown.filter(({ part }) => (part.side ?? "left") === wanted).map((each) => each.part.style(textOf(each)));
  const [left, right] = [side("left").join(GAP), side("right").join(GAP)];
  if (right === "") return left;
  return `${left}${" ".repeat(width - visibleWidth(left) - visibleWidth(right))}${right}`;
}

function widthOf(shown: readonly Shown[]): number {
  const texts = shown.map((each) => visibleWidth(textOf(each)));
  return texts.reduce((sum, each) => sum + each, 0) + GAP.length * (shown.length - 1);
}

function textOf({ part, form }: Shown): string {
  return part.forms[form]!;
}
