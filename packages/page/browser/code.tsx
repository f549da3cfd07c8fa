import { createTwoFilesPatch } from "diff";
import DOMPurify from "dompurify";
import { useMemo, useState } from "preact/hooks";
import type { DiffPart } from "../src/page-data.ts";
import { highlighted } from "./highlight.ts";

/** Of a long text, so many lines are shown before somebody asks for more. */
const LINES_SHOWN = 400;

export interface CodeProps {
  text: string;
  language?: string;
  label: string;
  /** Nothing of it is left out. Default: false */
  isWhole?: boolean;
}

/** Code, or what a tool said. */
export function Code({ text, language = "", label, isWhole = false }: CodeProps) {
  const [isAskedFor, ask] = useState(false);
  const lines = useMemo(() => lineEnd(text, LINES_SHOWN), [text]);
  const shown = isWhole || isAskedFor || lines === undefined ? text : text.slice(0, lines);
  const html = useMemo(
    () =>
      DOMPurify.sanitize(highlighted(shown, language), { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"] }),
    [shown, language],
  );
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
      <pre tabIndex={0} role="group" aria-label={label}>
        <code dangerouslySetInnerHTML={{ __html: html }} />
      </pre>
      {shown.length < text.length && (
        <button type="button" onClick={() => ask(true)}>
          Show all {text.split("\n").length.toLocaleString("en")} lines
        </button>
      )}
    </div>
  );
}

/** Where the first lines end; undefined where there are no more. */
function lineEnd(text: string, lines: number): number | undefined {
  let at = -1;
  for (let line = 0; line < lines; line += 1) {
    at = text.indexOf("\n", at + 1);
    if (at < 0) return undefined;
  }
  return at;
}

const signs = { "+": "added", "-": "removed", "@": "place" } as const;

/** What a file lost and got, with signs beside the colours. */
export function Diff({ part }: { part: DiffPart }) {
  const lines = useMemo(() => diffLines(part), [part]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
    <pre class="diff" tabIndex={0} role="group" aria-label={`Changes of ${part.path || "a file"}`}>
      {lines.map((line, at) => (
        <span key={at} class={signs[line[0] as keyof typeof signs] ?? "same"}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  );
}

const MOST_DIFF_CHARS = 200_000;

function diffLines(part: DiffPart): string[] {
  if ("unified" in part) return part.unified.split("\n");
  const { before, after } = part;
  if (before.length + after.length > MOST_DIFF_CHARS)
    return [...before.split("\n").map((line) => `-${line}`), ...after.split("\n").map((line) => `+${line}`)];
  const patch = createTwoFilesPatch("a", "b", before, after, undefined, undefined, {
    context: 3,
    timeout: 500,
  });
  return (patch ?? "")
    .split("\n")
    .slice(3)
    .filter((line) => !line.startsWith("\\") && line !== "");
}
