import type { CueHit } from "./cues.ts";
import { fold } from "./fold.ts";
import { stopwords } from "./language.ts";
import type { Language } from "./lexicon/lexicons.ts";
import { lexicons } from "./lexicon/lexicons.ts";
import type { Statement } from "./statement.ts";
import { stem } from "./subject.ts";

/** What a statement says about change. */
export interface Change {
  /** Speaks of change at all. */
  strong: boolean;
  /** Has a word that may stand with a change: "now", "let's use". */
  weak: boolean;
  revokes: boolean;
  /** Has a word of change or of time that is more than what it forbids ("never change …") or a mark of its own value. */
  turns: boolean;
  /** A word that marks an old value stands by one of its values. */
  marksOld: boolean;
  /** Keys of the values, and stems of the words, that it names as the old ones; empty unless it speaks of change. */
  old: ReadonlySet<string>;
  oldStems: ReadonlySet<string>;
  /** Names no subject: "use 9090 instead". */
  bare: boolean;
}

const NEAR_CHARS = 40;

/** "Forget A, …": at the start it takes A back. */
const TAKES_BACK =
  /^(?:(?:ok|okay|no|ah|and|so|nein|non|nao|но|нет),? )?(?:forget|scrap|ditch|drop|vergiss|oublie|olvida|esquece|dimentica|scordati|забудь|забудем)\s(?!it\b|me\b|to\b|nicht\b|pas\b|не\b)\p{L}/u;

export function changeOf(statement: Statement): Change {
  const { cues, values } = statement;
  const strong = cues.has("change") || cues.has("revoke") || TAKES_BACK.test(statement.folded);
  const marked = markedOld(statement);
  const cueStems = cueWords(statement);
  const content = [...statement.subject].filter((word) => !cueStems.has(word));
  return {
    strong,
    weak: cues.has("shift") || cues.has("decide"),
    revokes: cues.has("revoke"),
    turns: turns(statement),
    marksOld: marked.values.size > 0,
    old: strong ? marked.values : new Set(),
    oldStems: strong ? marked.stems : new Set(),
    bare: strong && statement.speaker === "user" && content.length <= 1 && values.length > 0,
  };
}

/** The stems of the cue phrases themselves: "switch", "rename". */
export function cueWords({ hits, folded }: Statement): Set<string> {
  const words = hits.flatMap((hit) => folded.slice(hit.start, hit.end).split(/[^\p{L}]+/u));
  return new Set(words.map(stem));
}

/** Words of time that only say when: "since the audit runs, never …", "finally, never …". */
const TELLS_WHEN =
  /^(?:since|finally|meanwhile|today|currently|latest|aktuell|depuis|entre-temps|aujourd'hui|actuellement|mientras tanto|hoy|actualmente|entretanto|hoje|atualmente|nel frattempo|oggi|attualmente|тем временем|сегодня|今天|最新|今日|오늘|최신)$/u;

function turns(statement: Statement): boolean {
  const { hits, folded, language } = statement;
  const { before, after } = markers(language);
  const forbidden = hits.filter((hit) => hit.cue === "forbid");
  const { verbLast = false } = lexicons[language];
  return hits.some((hit) => {
    if (hit.cue !== "change" && hit.cue !== "revoke" && hit.cue !== "shift") return false;
    const phrase = folded.slice(hit.start, hit.end);
    if (TELLS_WHEN.test(phrase) || before.includes(phrase) || after.includes(phrase)) return false;
    return !forbidden.some((no) => (verbLast ? adjoin(hit, no, folded) : adjoin(no, hit, folded)));
  });
}

/** Nothing but a blank between the two, or an overlap. */
function adjoin(first: CueHit, second: CueHit, folded: string): boolean {
  return (
    first.start <= second.start &&
    folded.slice(first.end, second.start).trim() === "" &&
    second.start - first.end <= 1
  );
}

interface Marked {
  values: Set<string>;
  stems: Set<string>;
}

/** What stands right behind "instead of" and its like, or right before "の代わりに" and its like. */
function markedOld(statement: Statement): Marked {
  const marked: Marked = { values: new Set(), stems: new Set() };
  const { before, after } = markers(statement.language);
  const { folded } = statement;
  for (const [, end] of before.flatMap((marker) => places(folded, marker, statement.language)))
    mark(
      marked,
      statement,
      folded.slice(end, end + NEAR_CHARS).split(/[,;:.!?，。、；](?:\s|$)/)[0]!,
      "first",
    );
  for (const [start] of after.flatMap((marker) => places(folded, marker, statement.language)))
    mark(
      marked,
      statement,
      folded
        .slice(Math.max(0, start - NEAR_CHARS), start)
        .split(/[,;!?，。、；]\s?/)
        .at(-1)!,
      "last",
    );
  return marked;
}

const markersOf = new Map<Language, { before: string[]; after: string[] }>();

function markers(language: Language): { before: string[]; after: string[] } {
  let found = markersOf.get(language);
  if (found === undefined) {
    const { beforeOld, afterOld = "" } = lexicons[language];
    const phrases = (list: string): string[] =>
      list
        .split("|")
        .map(fold)
        .filter((phrase) => phrase !== "");
    found = { before: phrases(beforeOld), after: phrases(afterOld) };
    markersOf.set(language, found);
  }
  return found;
}

/** Start and end of each place where the phrase stands as words of its own. */
function places(text: string, phrase: string, language: Language): Array<[start: number, end: number]> {
  const open = phrase.endsWith("~");
  const bare = open ? phrase.slice(0, -1) : phrase;
  const unspaced = lexicons[language].unspaced === true;
  const found: Array<[number, number]> = [];
  for (let at = text.indexOf(bare); at !== -1 && found.length < 8; at = text.indexOf(bare, at + 1)) {
    const end = at + bare.length;
    if (unspaced || (isFree(text[at - 1]) && (open || isFree(text[end])))) found.push([at, end]);
  }
  return found;
}

const isFree = (char: string | undefined): boolean => char === undefined || !/[\p{L}\p{N}_]/u.test(char);

/** Marks the nearest value of a clause, and its two nearest content words. */
function mark(marked: Marked, { values, language }: Statement, clause: string, side: "first" | "last"): void {
  const placed = values
    .map((value) => ({
      key: value.key,
      at: side === "first" ? clause.indexOf(fold(value.text)) : clause.lastIndexOf(fold(value.text)),
    }))
    .filter((entry) => entry.at !== -1)
    .sort((a, b) => (side === "first" ? a.at - b.at : b.at - a.at));
  if (placed[0] !== undefined) marked.values.add(placed[0].key);
  const small = stopwords(language);
  const words = (clause.match(/\p{L}[\p{L}\p{M}']+/gu) ?? []).filter(
    (word) => word.length > 2 && !small.has(word),
  );
  for (const word of side === "first" ? words.slice(0, 2) : words.slice(-2)) marked.stems.add(stem(word));
}
