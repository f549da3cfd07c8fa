import { visibleWidth } from "../terminal/tui.ts";
import type { Style } from "../theme/theme.ts";
import { cutText } from "./cut-text.ts";

/** A text, and how important it is that it is not shorter. */
export type Form = readonly [text: string, importance: number];

/** A piece of a line that may have to give way. */
export interface Part {
  /** From the longest to the shortest; the first is what one would like to show, after the last comes nothing. */
  forms: readonly [Form, ...Form[]];
  style: Style;
  /** Default "left". */
  side?: "left" | "right";
}

interface Shown {
  part: Part;
  form: number;
}

const GAP = "  ";

/**
 * One line of what has room, the parts of the right at its right end. As long as there is too little room, the least
 * important form gives way to its next; the last part left is cut.
 */
export function fitParts(parts: readonly Part[], width: number): string {
  let shown: Shown[] = parts.map((part) => ({ part, form: 0 }));
  while (shown.length > 0 && widthOf(shown) > width) {
    const least = shown.reduce((a, b) => (importanceOf(b) < importanceOf(a) ? b : a));
    const hasNext = least.form + 1 < least.part.forms.length;
    if (!hasNext && shown.length === 1) return least.part.style(cutText(textOf(least), width));
    shown = shown.flatMap((each) => {
      if (each !== least) return [each];
      return hasNext ? [{ ...least, form: least.form + 1 }] : [];
    });
  }
  return joined(shown, width);
}

function joined(shown: readonly Shown[], width: number): string {
  const side = (wanted: "left" | "right") =>
    shown
      .filter(({ part }) => (part.side ?? "left") === wanted)
      .map((each) => each.part.style(textOf(each)))
      .join(GAP);
  const [left, right] = [side("left"), side("right")];
  if (right === "") return left;
  return `${left}${" ".repeat(width - visibleWidth(left) - visibleWidth(right))}${right}`;
}

function widthOf(shown: readonly Shown[]): number {
  const texts = shown.map((each) => visibleWidth(textOf(each)));
  return texts.reduce((sum, each) => sum + each, 0) + GAP.length * (shown.length - 1);
}

function textOf({ part, form }: Shown): string {
  return part.forms[form]![0];
}

function importanceOf({ part, form }: Shown): number {
  return part.forms[form]![1];
}
