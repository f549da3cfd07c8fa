import { withoutMiddle } from "./long-prose.ts";
import { type Frame, framesIn, isShort } from "./paste-frames.ts";
import { blockLine, isBlockLine, withoutLongTokens } from "./paste-lines.ts";
import { runsIn } from "./paste-runs.ts";

/**
 * What a person wrote, without what was pasted into it: each pasted block (a fence, a stack trace, a log, JSON, a listing, a
 * quoted file, a diff, a table) is one line that says what it was and how long. Found by shape, not by language. What is
 * short stays as it is; of a text too long to be typed, its head and its tail stay. Idempotent.
 */
export function ownWords(text: string): string {
  const lines = text.split(/\r\n?|\n/);
  const own: string[] = [];
  let from = 0;
  for (const frame of framesIn(lines)) {
    addUnframed(own, lines.slice(from, frame.from));
    addFrame(own, lines, frame);
    from = frame.to;
  }
  addUnframed(own, lines.slice(from));
  return withoutMiddle(own).join("\n");
}

/** A line of ours ends what stands before it, so that a second reading finds the same stretches as the first. */
function addUnframed(own: string[], lines: readonly string[]): void {
  let from = 0;
  for (let at = 0; at <= lines.length; at++) {
    if (at < lines.length && !isBlockLine(lines[at]!)) continue;
    addStretch(own, lines.slice(from, at));
    if (at < lines.length) own.push(lines[at]!);
    from = at + 1;
  }
}

function addStretch(own: string[], lines: readonly string[]): void {
  let from = 0;
  const add = (to: number) => {
    for (const line of lines.slice(from, to)) own.push(withoutLongTokens(line));
  };
  for (const run of runsIn(lines)) {
    add(run.from);
    own.push(blockLine(run.kind, lines.slice(run.from, run.to)));
    from = run.to;
  }
  add(lines.length);
}

function addFrame(own: string[], lines: readonly string[], frame: Frame): void {
  if (isShort(frame)) {
    own.push(...lines.slice(frame.from, frame.to));
    return;
  }
  if (frame.before !== "") own.push(frame.before);
  own.push(blockLine(frame.kind, frame.body, frame.name));
  if (frame.after !== "") own.push(frame.after);
}
