import { count, counted } from "@bonsai-agent/messages/numbers";
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";

/** How much of a text is shown at once: a browser that lays out more than that does nothing else meanwhile. */
interface TextBound {
  lines: number;
  chars: number;
}

/** Before somebody asks for more. */
const FIRST: TextBound = { lines: 400, chars: 40_000 };
/** Each time that somebody asks; and of what is found in or printed. */
const MORE: TextBound = { lines: 10_000, chars: 500_000 };

export interface ShownText {
  /** The beginning, or all of it. */
  shown: string;
  /** The way to more; undefined where all is shown. */
  more: ComponentChildren;
}

/** The part of a text that is shown. @param isOpen true where it is found in or printed: much more of it is shown */
export function useShownText(text: string, isOpen: boolean): ShownText {
  const [asked, ask] = useState(0);
  const chars = Math.max(FIRST.chars + asked * MORE.chars, isOpen ? MORE.chars : 0);
  const lines = Math.max(FIRST.lines + asked * MORE.lines, isOpen ? MORE.lines : 0);
  const part = useMemo(() => beginning(text, { lines, chars }), [text, lines, chars]);
  const shown = useMemo(() => withoutPiles(part), [part]);
  if (part.length === text.length) return { shown, more: undefined };
  return { shown, more: <More text={text} shown={part} onAsk={() => ask(asked + 1)} /> };
}

/** A browser takes minutes to draw thousands of marks on one letter. */
const PILES = /(\p{M}{32})\p{M}+/gu;

/** A text that can be drawn: of the marks that stand upon one letter, no more than any script has. */
export function withoutPiles(text: string): string {
  return text.replace(PILES, "$1");
}

function More({ text, shown, onAsk }: { text: string; shown: string; onAsk: () => void }) {
  const lines = useLineCount(text);
  const rest = text.length - shown.length;
  const isLast = rest <= MORE.chars && lines <= MORE.lines;
  return (
    <button type="button" class="more" onClick={onAsk}>
      {isLast ? "Show all" : "Show more of"} {counted(lines, "line")}, {counted(text.length, "character")}
    </button>
  );
}

/** The first items of a list, and a button for more of them. @param noun after the number of items left */
export function useShownItems<Item>(
  items: readonly Item[],
  { first, step, noun = "" }: { first: number; step: number; noun?: string },
): { shown: readonly Item[]; more: ComponentChildren } {
  const [most, showMost] = useState(first);
  const left = items.length - most;
  const button = (
    <button type="button" class="more" onClick={() => showMost(most + step)}>
      Show {count(Math.min(left, step))} more of {count(left)}
      {noun}
    </button>
  );
  return { shown: items.slice(0, most), more: left > 0 && button };
}

/** Lines of a text, counted once. */
export function useLineCount(text: string): number {
  return useMemo(() => {
    let count = 1;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
    return count;
  }, [text]);
}

function beginning(text: string, { lines, chars }: TextBound): string {
  let end = -1;
  for (let line = 0; line < lines && end < chars; line += 1) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) end = text.length;
    if (end === text.length) break;
  }
  if (end <= chars) return text.slice(0, end);
  // No letter is cut in two.
  const isInside = /[\ud800-\udbff]/.test(text[chars - 1]!);
  return text.slice(0, isInside ? chars - 1 : chars);
}

/** A text as it is. @param isOpen true where it is found in or printed */
export function PlainText({ text, isOpen }: { text: string; isOpen: boolean }) {
  const { shown, more } = useShownText(text, isOpen);
  return (
    <div>
      <pre class="plain">{shown}</pre>
      {more}
    </div>
  );
}

/** A text among others. @param isOpen true where it is found in or printed */
export function TextInLine({ text, isOpen = false }: { text: string; isOpen?: boolean }) {
  const { shown, more } = useShownText(text, isOpen);
  return (
    <>
      {shown}
      {more}
    </>
  );
}
