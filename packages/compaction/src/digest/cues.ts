import { fold } from "./fold.ts";
import type { CueClass, Lexicon } from "./lexicon/lexicon.ts";
import type { Language } from "./lexicon/lexicons.ts";
import { lexicons } from "./lexicon/lexicons.ts";

/** Where a phrase of a class stands in the folded sentence. */
export interface CueHit {
  cue: CueClass;
  start: number;
  end: number;
}

interface Phrase {
  cue: CueClass;
  /** The text up to the first gap. */
  head: string;
  /** A sticky pattern, only where the phrase has gaps or open endings inside. */
  pattern?: RegExp;
  openEnd: boolean;
}

interface CueIndex {
  /** Phrases by their first two characters: one look-up per word start instead of hundreds of patterns. */
  byStart: Map<string, Phrase[]>;
  unspaced: boolean;
}

const LETTER = /[\p{L}\p{N}_]/u;
const indexes = new Map<Language, CueIndex>();

/** The cues of a folded sentence, and the sentence with idioms and longer quotations blanked. */
export interface CueReading {
  hits: CueHit[];
  own: string;
}

/** Reads a folded sentence in its language; idioms that only look like a cue, and other people's words, are taken out. */
export function readCues(folded: string, language: Language): CueReading {
  const all = rawHits(folded, indexOf(language));
  const idioms = all.filter((hit) => hit.cue === "idiom" && !all.some((other) => isInside(hit, other)));
  const taken = [...idioms, ...quotedSpans(folded)];
  const hits = all.filter((hit) => hit.cue !== "idiom" && !taken.some((span) => overlaps(hit, span)));
  return { hits, own: taken.reduce(blanked, folded) };
}

function blanked(text: string, { start, end }: { start: number; end: number }): string {
  return text.slice(0, start) + " ".repeat(end - start) + text.slice(end);
}

function rawHits(folded: string, index: CueIndex): CueHit[] {
  const hits: CueHit[] = [];
  for (let at = 0; at < folded.length; at++) {
    if (!index.unspaced && at > 0 && LETTER.test(folded[at - 1]!)) continue;
    const phrases = index.byStart.get(folded.slice(at, at + 2));
    if (phrases === undefined) continue;
    for (const phrase of phrases) {
      const end = matchEnd(folded, at, phrase, index.unspaced);
      if (end > 0 && !isPartOfName(folded, at, end)) hits.push({ cue: phrase.cue, start: at, end });
    }
  }
  return hits;
}

/** "audit" in `src/audit-3.ts` is no word of the sentence. */
function isPartOfName(folded: string, at: number, end: number): boolean {
  if (at > 1 && /[/\\@#._-]/.test(folded[at - 1]!) && /[a-z0-9]/i.test(folded[at - 2]!)) return true;
  return /^[-_/.][a-z0-9]/i.test(folded.slice(end, end + 2)) && /[a-z0-9]/i.test(folded[end - 1]!);
}

function matchEnd(folded: string, at: number, phrase: Phrase, unspaced: boolean): number {
  if (!folded.startsWith(phrase.head, at)) return 0;
  if (phrase.pattern !== undefined) {
    phrase.pattern.lastIndex = at;
    return phrase.pattern.exec(folded) === null ? 0 : phrase.pattern.lastIndex;
  }
  const end = at + phrase.head.length;
  if (unspaced || phrase.openEnd) return end;
  return end < folded.length && isLetter(phrase.head.at(-1)!) && isLetter(folded[end]!) ? 0 : end;
}

const isLetter = (char: string): boolean => LETTER.test(char);
const overlaps = (a: { start: number; end: number }, b: { start: number; end: number }): boolean =>
  a.start < b.end && b.start < a.end;

/** "let's go" in "let's go with" is no idiom. */
const isInside = (inner: CueHit, outer: CueHit): boolean =>
  outer.cue !== "idiom" && outer.start <= inner.start && outer.end > inner.end;

/** Longer quotations: what they say is somebody else's voice. A quoted name or value is short and has no cue. */
function quotedSpans(folded: string): Array<{ start: number; end: number }> {
  const spans: Array<{ start: number; end: number }> = [];
  for (const match of folded.matchAll(
    /`[^`]+`|"[^"]{12,}"|«[^»]{8,}»|「[^」]{6,}」|『[^』]{6,}』|'[^'\n]{16,}'(?![\p{L}])/gu,
  ))
    spans.push({ start: match.index, end: match.index + match[0].length });
  return spans;
}

function indexOf(language: Language): CueIndex {
  let index = indexes.get(language);
  if (index === undefined) {
    index = buildIndex(language);
    indexes.set(language, index);
  }
  return index;
}

/** People mix English into all languages of programming; phrases of several words are nobody's false friends. */
function buildIndex(language: Language): CueIndex {
  const lexicon = lexicons[language];
  const byStart = new Map<string, Phrase[]>();
  addPhrases(byStart, lexicon, () => true);
  if (language !== "en")
    addPhrases(byStart, lexicons.en, (phrase) => /[ ']/.test(phrase) && !phrase.includes("*"));
  return { byStart, unspaced: lexicon.unspaced === true };
}

function addPhrases(
  byStart: Map<string, Phrase[]>,
  lexicon: Lexicon,
  takes: (phrase: string) => boolean,
): void {
  for (const [cue, list] of Object.entries(lexicon.cues) as Array<[CueClass, string]>) {
    for (const written of list.split("|")) {
      const phrase = fold(written);
      if (!takes(phrase)) continue;
      addPhrase(byStart, cue, phrase);
      if (phrase.includes("'")) addPhrase(byStart, cue, phrase.replaceAll("'", ""));
    }
  }
}

function addPhrase(byStart: Map<string, Phrase[]>, cue: CueClass, phrase: string): void {
  if (phrase === "") return;
  const openEnd = phrase.endsWith("~");
  const body = openEnd ? phrase.slice(0, -1) : phrase;
  const gap = body.search(/[*~]/);
  const entry: Phrase =
    gap === -1
      ? { cue, head: body, openEnd }
      : { cue, head: body.slice(0, gap).trimEnd(), openEnd, pattern: gapPattern(body, openEnd) };
  const key = entry.head.slice(0, 2);
  const list = byStart.get(key) ?? [];
  list.push(entry);
  byStart.set(key, list);
}

function gapPattern(body: string, openEnd: boolean): RegExp {
  const source = body
    .replace(/[.+?^${}()|[\]\\]/g, "\\$&")
    .replace(/~/g, "\\p{L}*")
    .replace(/ \* /g, " (?:[^.;!?,]{1,40}? )?");
  return new RegExp(`${source}${openEnd ? "" : "(?![\\p{L}\\p{N}_])"}`, "uy");
}
