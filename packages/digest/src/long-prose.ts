import { blockLine, isBlockLine } from "./paste-lines.ts";

/** More than anybody types without a line of ours between, and in one message at all. */
const limits = [
  { most: 6_000, edge: 2_000, acrossBlocks: false },
  { most: 16_000, edge: 6_000, acrossBlocks: true },
] as const;

/** A document that nobody typed keeps its head and its tail. */
export function withoutMiddle(lines: readonly string[]): string[] {
  let kept = [...lines];
  for (const { most, edge, acrossBlocks } of limits) {
    const stretches = acrossBlocks ? [kept] : betweenBlocks(kept);
    kept = stretches.flatMap((stretch) => clipped(stretch, most, edge));
  }
  return kept;
}

function betweenBlocks(lines: readonly string[]): string[][] {
  const stretches: string[][] = [[]];
  for (const line of lines) {
    if (isBlockLine(line)) stretches.push([line], []);
    else stretches.at(-1)!.push(line);
  }
  return stretches;
}

function clipped(lines: string[], most: number, edge: number): string[] {
  const text = lines.join("\n");
  if (text.length <= most) return lines;
  const head = text.slice(0, endOfHead(text, edge));
  const tail = text.slice(startOfTail(text, text.length - edge));
  const middle = text.slice(head.length, text.length - tail.length).trim();
  return [
    ...head.trimEnd().split("\n"),
    blockLine("text", middle.split("\n")),
    ...tail.trimStart().split("\n"),
  ];
}

const farthestChars = 300;
/** A sentence's end or a line's, across scripts. */
const sentenceEnd = /[.!?…](?=\s)|[。！？।؟۔]|\n/g;

function endOfHead(text: string, at: number): number {
  const from = at - farthestChars;
  const ends = [...text.slice(from, at).matchAll(sentenceEnd)];
  return ends.length > 0 ? from + ends.at(-1)!.index + 1 : wholeCharacter(text, at);
}

function startOfTail(text: string, at: number): number {
  const end = text.slice(at, at + farthestChars).search(sentenceEnd);
  return end >= 0 ? at + end + 1 : wholeCharacter(text, at);
}

function wholeCharacter(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text[at] ?? "") ? at - 1 : at;
}
