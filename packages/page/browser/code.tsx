import { createTwoFilesPatch } from "diff";
import DOMPurify from "dompurify";
import { useMemo } from "preact/hooks";
import type { DiffPart } from "../src/page-data.ts";
import { highlighted } from "./highlight.ts";
import { useShownText } from "./long-text.tsx";

export interface CodeProps {
  text: string;
  language?: string;
  label: string;
  /** True if a hit was found in it. */
  isOpen: boolean;
}

/** Code, or the output of a tool. */
export function Code({ text, language = "", label, isOpen }: CodeProps) {
  const { shown, more } = useShownText(text, isOpen);
  const html = useMemo(
    () =>
      DOMPurify.sanitize(highlighted(shown, language), { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"] }),
    [shown, language],
  );
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable element needs the keyboard */}
      <pre tabIndex={0} role="group" aria-label={label}>
        <code dangerouslySetInnerHTML={{ __html: html }} />
      </pre>
      {more}
    </div>
  );
}

const signs = { "+": "added", "-": "removed", "@": "place" } as const;

/** A change of a file, with signs beside the colours. @param isOpen true if a hit was found in it */
export function Diff({ part, isOpen }: { part: DiffPart; isOpen: boolean }) {
  const { text, isCompared } = useMemo(() => changes(part), [part]);
  const { shown, more } = useShownText(text, isOpen);
  return (
    <div>
      {!isCompared && (
        <p class="quiet">Too large to compare line by line. All old lines come first, then all new lines.</p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable element needs the keyboard */}
      <pre class="diff" tabIndex={0} role="group" aria-label={`Changes to ${part.path || "a file"}`}>
        {shown.split("\n").map((line, at) => (
          <span key={at} class={signs[line[0] as keyof typeof signs] ?? "same"}>
            {`${line}\n`}
          </span>
        ))}
      </pre>
      {more}
    </div>
  );
}

interface Changes {
  /** Lines with a sign before each. */
  text: string;
  isCompared: boolean;
}

/** Larger or slower comparisons are not made. */
const MAX_DIFF_CHARS = 200_000;
const MAX_DIFF_MS = 200;

function changes(part: DiffPart): Changes {
  if ("unified" in part) return { text: part.unified, isCompared: true };
  const { before, after } = part;
  const patch =
    before.length + after.length > MAX_DIFF_CHARS
      ? undefined
      : createTwoFilesPatch("a", "b", before, after, undefined, undefined, {
          context: 3,
          timeout: MAX_DIFF_MS,
        });
  if (patch === undefined)
    return { text: [...signed("-", before), ...signed("+", after)].join("\n"), isCompared: false };
  const lines = patch.split("\n").slice(3);
  return {
    text: lines.filter((line) => !line.startsWith("\\") && line !== "").join("\n"),
    isCompared: true,
  };
}

function signed(sign: string, text: string): string[] {
  const whole = text.endsWith("\n") ? text.slice(0, -1) : text;
  return text === "" ? [] : [`${sign}${whole.replaceAll("\n", `\n${sign}`)}`];
}
