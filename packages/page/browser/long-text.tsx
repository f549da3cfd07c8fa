import { count, counted } from "@bonsai-agent/messages/numbers";
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";

/** The shown part of a text: a browser lays out a longer one slowly. */
interface TextBound {
  lines: number;
  chars: number;
}

const FIRST: TextBound = { lines: 400, chars: 40_000 };
/** For each click on "Show more", and for a text in which a hit was found. */
const MORE: TextBound = { lines: 10_000, chars: 500_000 };

export interface ShownText {
  shown: string;
  /** The button for more; undefined if all is shown. */
  more: ComponentChildren;
}

/** The shown part of a text. @param isOpen true if a hit was found in it */
export function useShownText(text: string, isOpen: boolean): ShownText {
  const [clicks, setClicks] = useState(0);
  const steps = Math.max(clicks, isOpen ? 1 : 0);
  const bound = steps === 0 ? FIRST : { lines: steps * MORE.lines, chars: steps * MORE.chars };
  const part = useMemo(() => beginning(text, bound), [text, steps]);
  const shown = useMemo(() => stripMarkPiles(part), [part]);
  if (part.length === text.length) return { shown, more: undefined };
  return { shown, more: <More text={text} shown={part} onAsk={() => setClicks(steps + 1)} /> };
}

/** A browser takes minutes to draw thousands of marks on one letter. No script has more than 32. */
export function stripMarkPiles(text: string): string {
  return text.replace(/(\p{M}{32})\p{M}+/gu, "$1");
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
  // A cut never splits a character.
  const isInside = /[\ud800-\udbff]/.test(text[chars - 1]!);
  return text.slice(0, isInside ? chars - 1 : chars);
}

/** A text as it is. @param isOpen true if a hit was found in it */
export function PlainText({ text, isOpen }: { text: string; isOpen: boolean }) {
  const { shown, more } = useShownText(text, isOpen);
  return (
    <div>
      <pre class="plain">{shown}</pre>
      {more}
    </div>
  );
}

/** A text among others. @param isOpen true if a hit was found in it */
export function TextInLine({ text, isOpen = false }: { text: string; isOpen?: boolean }) {
  const { shown, more } = useShownText(text, isOpen);
  return (
    <>
      {shown}
      {more}
    </>
  );
}
