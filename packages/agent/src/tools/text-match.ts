/** Where a passage stands in a text: from `start` up to but without `end`. */
export interface Span {
  start: number;
  end: number;
}

export type Tolerance = "trailing whitespace" | "typographic quotes, dashes or spaces";

export interface Matches {
  spans: Span[];
  /** What was overlooked to find it; empty for an exact match. */
  tolerated: Tolerance[];
}

/** More places than a model is shown; a passage of one letter may have millions. */
export const MAX_PLACES = 1_000;

/**
 * The places of a passage in a text, the first thousand of them. Where there is no exact one, spaces at line ends and typographic characters are
 * overlooked, and nothing else: indentation and case can carry meaning.
 */
export function matches(text: string, passage: string): Matches {
  const exact = placesOf(text, passage);
  if (exact.length > 0 || passage.trim() === "") return { spans: exact, tolerated: [] };
  const folded = fold(text);
  const spans = placesOf(folded.text, fold(passage).text).map(({ start, end }) => ({
    start: folded.origins[start]!,
    end: folded.origins[end]!,
  }));
  return { spans, tolerated: toleratedIn(text, passage, spans) };
}

function placesOf(text: string, passage: string): Span[] {
  const spans: Span[] = [];
  if (passage === "") return spans;
  for (
    let at = text.indexOf(passage);
    at >= 0 && spans.length < MAX_PLACES;
    at = text.indexOf(passage, at + 1)
  ) {
    spans.push({ start: at, end: at + passage.length });
  }
  return spans;
}

const plain: Readonly<Record<string, string>> = {
  "\u2018": "'",
  "\u2019": "'",
  "\u201a": "'",
  "\u201c": '"',
  "\u201d": '"',
  "\u201e": '"',
  "\u2010": "-",
  "\u2011": "-",
  "\u2012": "-",
  "\u2013": "-",
  "\u2014": "-",
  "\u2212": "-",
  "\u00a0": " ",
  "\u2002": " ",
  "\u2003": " ",
  "\u2009": " ",
  "\u202f": " ",
  "\u3000": " ",
};
const typographic = new RegExp(`[${Object.keys(plain).join("")}]`, "g");

/** One character for one, so that positions stay. */
function plainCharacters(text: string): string {
  return text.replaceAll(typographic, (character) => plain[character]!);
}

/** Without spaces at line ends; `origins` says where each character, and the end, stood before. */
function fold(text: string): { text: string; origins: number[] } {
  const origins: number[] = [];
  let folded = "";
  let from = 0;
  const take = (end: number) => {
    for (let at = from; at < end; at += 1) origins.push(at);
    folded += text.slice(from, end);
  };
  // Every run of spaces is looked at once: an expression that asks what follows starts anew in each of its spaces.
  for (const space of text.matchAll(/[^\S\n]+/g)) {
    const end = space.index + space[0].length;
    if (text[end] !== "\n") continue;
    take(space.index);
    from = end;
  }
  take(text.length);
  origins.push(text.length);
  return { text: plainCharacters(folded), origins };
}

function toleratedIn(text: string, passage: string, spans: readonly Span[]): Tolerance[] {
  const found = spans[0] && text.slice(spans[0].start, spans[0].end);
  if (found === undefined) return [];
  const tolerated: Tolerance[] = [];
  const ends = (value: string) =>
    value
      .split("\n")
      .map((line) => line.trimEnd())
      .join("\n");
  if (plainCharacters(found) !== plainCharacters(passage)) tolerated.push("trailing whitespace");
  if (ends(found) !== ends(passage)) tolerated.push("typographic quotes, dashes or spaces");
  return tolerated;
}
