import { type LineShape, lineShapes, weights } from "./line-shape.ts";
import { type Frame, framesIn } from "./paste-frames.ts";
import { blockLine, isBlockLine, kindOf, withoutMass } from "./paste-lines.ts";

/**
 * What a person wrote, without what was pasted into it: each pasted block (a fence, a stack trace, a log, JSON, a listing, a
 * quoted file, a diff, a table) is one line that says what it was and how long. Found by shape, not by language. What is
 * short stays as it is; of a text too long to be typed, its head and its tail stay.
 */
export function ownWords(text: string): string {
  const lines = text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").split("\n");
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

/** A command, or a text that is asked for exactly, is information: a short frame stays. */
function addFrame(own: string[], lines: readonly string[], frame: Frame): void {
  const { from, to, kind, name, before = "", after = "", body } = frame;
  const isShort = body.length <= 3 && body.join("\n").length <= 200;
  const named = () => [before, blockLine(kind, body, name), after].filter((line) => line !== "");
  for (const line of isShort ? lines.slice(from, to) : named()) own.push(line);
}

/** A line of ours ends what stands before it, so that a second reading finds the same stretches as the first. */
function addUnframed(own: string[], lines: readonly string[]): void {
  for (const stretch of betweenBlocks(lines)) {
    let from = 0;
    for (const run of [...runsIn(stretch), { from: stretch.length, to: stretch.length }]) {
      for (let at = from; at < run.from; at++) own.push(withoutMass(stretch[at]!));
      const body = stretch.slice(run.from, run.to);
      if (body.length > 0) own.push(blockLine(kindOf(body), body));
      from = run.to;
    }
  }
}

/** Each line that stands for a block is a stretch alone. */
function betweenBlocks(lines: readonly string[]): readonly (readonly string[])[] {
  if (!lines.some(isBlockLine)) return [lines];
  const stretches: string[][] = [[]];
  for (const line of lines) {
    if (isBlockLine(line)) stretches.push([line], []);
    else stretches.at(-1)!.push(line);
  }
  return stretches;
}

/** Made lines in a row, with what may be either between them. */
type Run = Pick<Frame, "from" | "to">;

/** The pasted blocks in lines without a frame; those too short to be left out are not among them. */
function runsIn(lines: readonly string[]): Run[] {
  const shapes = lineShapes(lines);
  const runs: Run[] = [];
  let isOpen = false;
  shapes.forEach((shape, at) => {
    if (shape === "own") isOpen = false;
    if (weights[shape] === 0) return;
    const run = runs.at(-1);
    if (isOpen && run !== undefined && isJoined(shapes, run, at)) run.to = at + 1;
    else runs.push({ from: at, to: at + 1 });
    isOpen = true;
  });
  return runs.map((run) => withoutAsides(run, shapes)).filter((run) => isPaste(run, shapes, lines));
}

/** One paste may have blank lines in it; a command, a path or a short list in a paragraph between pastes is the user's. */
function isJoined(shapes: readonly LineShape[], { to }: Run, at: number): boolean {
  if (at - to > 5) return false;
  const gap = shapes.slice(to, at);
  if (!gap.includes("blank")) return true;
  const isSure = [shapes[to - 1]!, shapes[at]!].every((shape) => weights[shape] >= weights.key);
  return isSure && gap.length <= 2 && gap.every((shape) => shape === "blank");
}

/** A path or a command right above or below what a program wrote is the user's. */
function withoutAsides({ from, to }: Run, shapes: readonly LineShape[]): Run {
  const isAside = (at: number, beside: number) =>
    to - from > 2 && shapes[at] === "unsure" && shapes[beside] !== "unsure";
  return { from: from + Number(isAside(from, from + 1)), to: to - Number(isAside(to - 1, to - 2)) };
}

/** Less than four sure lines, or thirteen unsure ones, stays: it may be a wish, an example, or a list. */
function isPaste({ from, to }: Run, shapes: readonly LineShape[], lines: readonly string[]): boolean {
  const weight = shapes.slice(from, to).reduce((sum, shape) => sum + weights[shape], 0);
  const chars = lines.slice(from, to).reduce((sum, line) => sum + line.length, 0);
  return to - from > 1 && (weight >= 3.89 || chars > 1_000);
}

/** Of more than anybody types without a line of ours between, and in one message at all, head and tail stay. */
function withoutMiddle(lines: readonly string[]): readonly string[] {
  const stretches = betweenBlocks(lines).flatMap((stretch) => clipped(stretch, 6_000, 2_000));
  return clipped(stretches, 16_000, 6_000);
}

function clipped(lines: readonly string[], mostChars: number, edgeChars: number): readonly string[] {
  const text = lines.join("\n");
  if (text.length <= mostChars) return lines;
  const head = sentenceEnd(text, edgeChars - 300);
  const tail = sentenceEnd(text, text.length - edgeChars);
  const middle = blockLine("text", text.slice(head, tail).trim().split("\n"));
  return [text.slice(0, head).trimEnd(), middle, text.slice(tail).trimStart()].join("\n").split("\n");
}

/** The first end of a sentence or of a line, across scripts. */
function sentenceEnd(text: string, from: number): number {
  const end = text.slice(from, from + 300).search(/[.!?…](?=\s)|[。！？।؟۔]|\n/);
  if (end >= 0) return from + end + 1;
  return /[\udc00-\udfff]/.test(text[from] ?? "") ? from - 1 : from;
}
