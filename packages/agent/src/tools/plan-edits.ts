import { diffArrays } from "diff";
import { notFound } from "./nearest-passage.ts";
import type { TextChange, TextEdit } from "./text-edit.ts";
import { MAX_PLACES, matches, type Span, type Tolerance } from "./text-match.ts";

/** To find what two long passages share can take minutes; then all of the passage counts as touched. */
const MAX_COMPARE_MS = 1_000;
/** Places that are named when a passage occurs several times. */
const MAX_NAMED_PLACES = 10;

export interface EditPlan {
  /** In the order of the text. */
  changes: TextChange[];
  /** What was overlooked to find the passages. */
  tolerated: Tolerance[];
}

/**
 * Finds where each edit goes in the text as it is given, whose line ends are `\n`.
 * Throws a sentence for the model when a passage is not found, is found more than once, or overlaps another.
 */
export function planEdits(text: string, edits: readonly TextEdit[]): EditPlan {
  const placed = edits.map((edit, index) => place(text, edit, nameOf(index, edits.length)));
  placed.sort((a, b) => a.span.start - b.span.start);
  for (const [index, { name, span }] of placed.entries()) {
    const next = placed[index + 1];
    if (next !== undefined && next.span.start < span.end) {
      throw new Error(
        `${name} and ${next.name} overlap in line ${lineAt(text, next.span.start)}. Nothing was changed. Join them into one edit.`,
      );
    }
  }
  const tolerated = new Set(placed.flatMap((one) => one.tolerated));
  return {
    changes: placed.map(({ span, replacement }) => ({ ...span, replacement })),
    tolerated: [...tolerated],
  };
}

interface PlacedEdit {
  name: string;
  span: Span;
  replacement: string;
  tolerated: Tolerance[];
}

function nameOf(index: number, count: number): string {
  return count === 1 ? "The edit" : `Edit ${index + 1} of ${count}`;
}

function place(text: string, edit: TextEdit, name: string): PlacedEdit {
  const { oldText, newText } = edit;
  if (oldText === "")
    throw new Error(`${name} has an empty oldText. Give the passage that is to be replaced, or use write.`);
  if (oldText === newText) throw new Error(`${name} changes nothing: oldText and newText are the same.`);
  const { spans, tolerated } = matches(text, oldText);
  const [span, ...others] = spans;
  if (span === undefined)
    throw new Error(`${name} was not made: ${notFound(text, edit)} Nothing was changed.`);
  if (others.length > 0) throw new Error(`${name} is ambiguous: ${several(text, spans)}`);
  const found = text.slice(span.start, span.end);
  const replacement = tolerated.length === 0 ? newText : keepUnchanged(found, edit);
  return { name, span, replacement, tolerated };
}

function several(text: string, spans: readonly Span[]): string {
  const lines = spans.slice(0, MAX_NAMED_PLACES).map(({ start }) => lineAt(text, start));
  const more = spans.length > lines.length ? ` and ${spans.length - lines.length} more` : "";
  const times = spans.length < MAX_PLACES ? spans.length : `at least ${MAX_PLACES}`;
  return `oldText occurs ${times} times (lines ${lines.join(", ")}${more}). Nothing was changed. Take more of the lines around the one that is meant, or one edit for each.`;
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

/** Lines that the edit does not touch stay as they are in the file, whatever was overlooked in them. */
function keepUnchanged(found: string, { oldText, newText }: TextEdit): string {
  const foundLines = found.split("\n");
  let at = 0;
  const lines: string[] = [];
  const parts = diffArrays(oldText.split("\n"), newText.split("\n"), { timeout: MAX_COMPARE_MS });
  if (parts === undefined) return newText;
  for (const part of parts) {
    if (part.added) {
      lines.push(...part.value);
      continue;
    }
    if (!part.removed) lines.push(...foundLines.slice(at, at + part.value.length));
    at += part.value.length;
  }
  return lines.join("\n");
}
