import { fold } from "./fold.ts";
import { stopwords } from "./language.ts";
import { lexicons } from "./lexicon/lexicons.ts";
import type { Statement } from "./statement.ts";
import { stem } from "./subject.ts";
import { comparable, type Value } from "./values.ts";

/** What later statements did to earlier ones. */
export interface Supersession {
  /** Statements that a later one replaced or took back. */
  replaced: ReadonlySet<Statement>;
  /** Values that are no longer true, with the value that took their place ("" when none did) and when. */
  deadValues: ReadonlyMap<string, { by: string; order: number }>;
}

const MAX_CANDIDATES = 80;

/**
 * Finds which statements stand no longer. A later statement replaces an earlier one when it names the earlier value as
 * the old one ("9090 instead of 8080"); when it speaks of change and of the same subject with another value of the same
 * sort; or, without a word of change, when both are about the very same thing and differ in the value alone. Candidates
 * come from an index over subjects and values, the most recent first, so that the work stays linear.
 */
export function supersede(statements: readonly Statement[]): Supersession {
  const replaced = new Set<Statement>();
  const deadValues = new Map<string, { by: string; order: number }>();
  const index = new Map<string, Statement[]>();
  const recent: Statement[] = [];
  for (const statement of statements) {
    const change = changeOf(statement);
    if (isClaim(statement)) {
      for (const value of statement.values) if (!change.old.has(value.key)) deadValues.delete(value.key);
      const standing = candidates(statement, index).filter(
        (earlier) => !replaced.has(earlier) && earlier.order < statement.order,
      );
      const gone = standing.filter((earlier) => replaces(statement, change, earlier));
      const lone =
        gone.length === 0 && change.bare ? bareTarget(statement, change, recent, replaced) : undefined;
      for (const earlier of lone === undefined ? gone : [lone]) {
        replaced.add(earlier);
        markDead(deadValues, statement, change, earlier);
      }
    }
    enter(index, statement);
    if (statement.values.length > 0 && isClaim(statement)) recent.push(statement);
  }
  return { replaced, deadValues };
}

interface Change {
  /** Speaks of change at all. */
  strong: boolean;
  weak: boolean;
  /** A word stands by one of its values that marks an old one. */
  marksOld: boolean;
  revokes: boolean;
  /** Keys of values, and stems, that the statement names as the old ones. */
  old: ReadonlySet<string>;
  oldStems: ReadonlySet<string>;
  /** Names no subject: "use 9090 instead". */
  bare: boolean;
}

function changeOf(statement: Statement): Change {
  const { old, oldStems } = oldParts(statement);
  const strong = statement.cues.has("change") || statement.cues.has("revoke");
  const cueStems = cueWords(statement);
  const content = [...statement.subject].filter((word) => !cueStems.has(word));
  return {
    strong,
    weak: statement.cues.has("shift") || statement.cues.has("decide"),
    revokes: statement.cues.has("revoke"),
    marksOld: old.size > 0,
    old: strong ? old : new Set(),
    oldStems: strong ? oldStems : new Set(),
    bare: strong && content.length <= 2 && statement.values.length > 0,
  };
}

/** The stems of the cue phrases themselves: "switch", "rename". */
function cueWords(statement: Statement): Set<string> {
  const words = new Set<string>();
  for (const hit of statement.hits)
    for (const word of statement.folded.slice(hit.start, hit.end).split(/[^\p{L}]+/u)) words.add(stem(word));
  return words;
}

/** What stands right behind "instead of" and its like, or right before "の代わりに" and its like. */
function oldParts(statement: Statement): { old: Set<string>; oldStems: Set<string> } {
  const old = new Set<string>();
  const oldStems = new Set<string>();
  const lexicon = lexicons[statement.language];
  for (const phrase of (lexicon.beforeOld ?? "").split("|").map(fold))
    for (const at of places(statement.folded, phrase, lexicon.unspaced === true))
      collect(
        statement.folded.slice(at + phrase.length, at + phrase.length + 40),
        statement,
        old,
        oldStems,
        "first",
      );
  for (const phrase of (lexicon.afterOld ?? "").split("|").map(fold))
    for (const at of places(statement.folded, phrase, lexicon.unspaced === true))
      collect(statement.folded.slice(Math.max(0, at - 40), at), statement, old, oldStems, "last");
  return { old, oldStems };
}

function places(text: string, phrase: string, unspaced: boolean): number[] {
  const found: number[] = [];
  if (phrase === "") return found;
  const bare = phrase.replace(/~$/, "");
  for (let at = text.indexOf(bare); at !== -1 && found.length < 8; at = text.indexOf(bare, at + 1)) {
    const free = (char: string | undefined): boolean => char === undefined || !/[\p{L}\p{N}_]/u.test(char);
    if (unspaced || (free(text[at - 1]) && (phrase.endsWith("~") || free(text[at + bare.length]))))
      found.push(at);
  }
  return found;
}

/** The nearest value, or the nearest content word where no value is near. */
function collect(
  piece: string,
  statement: Statement,
  old: Set<string>,
  oldStems: Set<string>,
  side: "first" | "last",
): void {
  const clause =
    side === "first" ? piece.split(/[,;:.!?，。、；](?:\s|$)/)[0]! : piece.split(/[,;!?，。、；]\s?/).at(-1)!;
  const near = statement.values
    .map((value) => ({
      value,
      at: side === "first" ? clause.indexOf(fold(value.text)) : clause.lastIndexOf(fold(value.text)),
    }))
    .filter((entry) => entry.at !== -1)
    .sort((a, b) => (side === "first" ? a.at - b.at : b.at - a.at))[0];
  const small = stopwords(statement.language);
  const words = (clause.match(/\p{L}[\p{L}\p{M}']+/gu) ?? []).filter(
    (word) => word.length > 2 && !small.has(word),
  );
  if (near !== undefined) old.add(near.value.key);
  const word = side === "first" ? words.slice(0, 2) : words.slice(-2);
  for (const each of word) oldStems.add(stem(each));
}

const isClaim = (statement: Statement): boolean =>
  statement.kind === "decision" ||
  statement.kind === "constraint" ||
  statement.kind === "fact" ||
  statement.kind === "preference" ||
  statement.kind === "plain";

function candidates(statement: Statement, index: Map<string, Statement[]>): Statement[] {
  const found = new Set<Statement>();
  for (const key of keysOf(statement)) {
    const list = index.get(key) ?? [];
    for (let at = list.length - 1; at >= 0 && at >= list.length - 25; at--) found.add(list[at]!);
    if (found.size > MAX_CANDIDATES) break;
  }
  return [...found].sort((a, b) => b.order - a.order);
}

/** "Use 9090 instead", with no subject: it means the claim that last named such a value. */
function bareTarget(
  statement: Statement,
  change: Change,
  recent: readonly Statement[],
  replaced: ReadonlySet<Statement>,
): Statement | undefined {
  const standing = recent.filter((claim) => !replaced.has(claim) && claim.order < statement.order);
  const last = standing.findLast((claim) => claim.speaker === "user");
  // Right after a claim anything can be meant; later only a setting of the same sort.
  if (last !== undefined && isCorrection(statement, last)) return last;
  const target = standing.findLast(hasSetting);
  const pair = target === undefined ? undefined : changedPair(statement, change, target);
  return pair !== undefined && isSetting(pair) ? target : undefined;
}

/** A short word right after the claim, with one value of the same make: "no, ISO_DATE". */
function isCorrection(statement: Statement, last: Statement): boolean {
  const [value] = statement.values;
  if (
    value === undefined ||
    statement.values.length > 1 ||
    value.type === "path" ||
    statement.text.length > 60
  )
    return false;
  return (
    statement.turn - last.turn <= 1 &&
    last.values.some((old) => old.type === value.type && old.key !== value.key)
  );
}

const hasSetting = (statement: Statement): boolean => statement.values.some(isSetting);
const isSetting = ({ type }: Value): boolean =>
  type === "number" || type === "url" || type === "colour" || type === "version" || type === "hash";

function enter(index: Map<string, Statement[]>, statement: Statement): void {
  if (!isClaim(statement) && statement.kind !== "todo") return;
  for (const key of keysOf(statement)) {
    const list = index.get(key);
    if (list === undefined) index.set(key, [statement]);
    else list.push(statement);
  }
}

function keysOf(statement: Statement): string[] {
  return [...statement.values.map((value) => `=${value.key}`), ...statement.subject];
}

/**
 * The assistant talks of changes all day ("replaced the import"); only when it names the old value does it change what
 * was said.
 */
function replaces(later: Statement, change: Change, earlier: Statement): boolean {
  if (later.speaker === "assistant")
    return (
      change.strong &&
      later.kind === "decision" &&
      changedPair(later, change, earlier) !== undefined &&
      earlier.values.some((value) => change.old.has(value.key) && isDistinct(value))
    );
  const shared = [...later.subject].filter((word) => earlier.subject.has(word)).length;
  const least = Math.max(1, Math.min(later.subject.size, earlier.subject.size));
  const pair = changedPair(later, change, earlier);
  if (change.strong) {
    if (earlier.values.some((value) => change.old.has(value.key)))
      return pair !== undefined || change.revokes || shared > 0;
    if (pair !== undefined && isSetting(pair) && namesBoth(later, earlier, pair)) return true;
    const likely = pair !== undefined && (pair.type !== "path" || later.kind === "decision");
    if (likely && later.kind !== "request" && shared > 0 && shared / least >= 0.3) return true;
    if (change.revokes && shared >= 1 && shared / Math.max(1, earlier.subject.size) >= 0.5) return true;
    const namesOld = [...change.oldStems].some((word) => earlier.subject.has(word));
    if (namesOld && isChoice(earlier) && (shared >= 2 || later.subject.size <= 4)) return true;
    return (
      isChoice(earlier) &&
      later.kind === "decision" &&
      later.speaker === "user" &&
      shared >= 2 &&
      shared / least >= 0.5 &&
      pair !== undefined
    );
  }
  const corrects = later.cues.has("prefer") || change.weak || change.marksOld;
  if (pair !== undefined && isSetting(pair) && corrects && namesBoth(later, earlier, pair)) return true;
  if (pair === undefined || pair.type === "path" || !isClaim(later) || !isClaim(earlier)) return false;
  if (isSetting(pair) && restates(later, earlier, shared)) return true;
  const union = later.subject.size + earlier.subject.size - shared;
  const alike = union === 0 ? 0 : shared / union;
  if (later.values.length > 4 || earlier.values.length > 4) return false;
  if (isSetting(pair)) return change.weak ? shared >= 1 && alike >= 0.5 : shared >= 2 && alike >= 0.6;
  // "No new dependencies in a" and "… in b" both hold; "now it is b" does not leave a.
  if (later.cues.has("shift") && shared >= 2 && alike >= 0.6) return true;
  return shared >= 1 && NAMES_IT.test(later.folded) && NAMES_IT.test(earlier.folded);
}

/** Both give a name to the same thing. */
const NAMES_IT =
  /\b(?:call(?:ed)?|named?|renamed?|heiss\w*|nenn\w*|appel\w*|nomm\w*|llam\w*|nombr\w*|cham\w*|chiam\w*)\b|назов|назыв|переимен|叫|命名|取名|改名|名前|名は|改め|이름/u;

/** "pgx v5 please": a short word of the user about nothing but what the claim was about. */
function restates(later: Statement, earlier: Statement, shared: number): boolean {
  const size = later.subject.size;
  return later.speaker === "user" && size > 0 && size <= 3 && shared === size && earlier.subject.size <= 6;
}

const isChoice = (statement: Statement): boolean =>
  statement.kind === "decision" ||
  statement.kind === "preference" ||
  statement.kind === "constraint" ||
  statement.kind === "plain" ||
  statement.kind === "request";

/** A value of the later statement that takes the place of one of the earlier; the earlier one may stand beside it. */
function changedPair(later: Statement, change: Change, earlier: Statement): Value | undefined {
  const laterKeys = new Set(later.values.map((value) => value.key));
  const earlierKeys = new Set(earlier.values.map((value) => value.key));
  const gone = earlier.values.filter(
    (value) => change.old.has(value.key) || !laterKeys.has(value.key) || isSetting(value),
  );
  const fresh = later.values.filter(
    (value) => !earlierKeys.has(value.key) && gone.some((old) => comparable(old.type, value.type)),
  );
  // "Rename the planner to X": the word that marks an old value may stand before the only, new one.
  return fresh.find((value) => !change.old.has(value.key)) ?? fresh[0];
}

/** "8080 is taken, make it 9090": both values side by side, of which the claim knew one. */
function namesBoth(later: Statement, earlier: Statement, fresh: Value): boolean {
  return later.values.some(
    (value) =>
      isSetting(value) &&
      comparable(value.type, fresh.type) &&
      earlier.values.some((known) => known.key === value.key),
  );
}

/** A value that means the same wherever it stands; a name or a word in quotes does not. */
function isDistinct(value: Value): boolean {
  if (value.type === "number") return value.key.replace(/\D/g, "").length >= 2;
  return value.type !== "name" && value.type !== "quote" && value.key.length > 3;
}

function markDead(
  dead: Map<string, { by: string; order: number }>,
  later: Statement,
  change: Change,
  earlier: Statement,
): void {
  const laterKeys = new Set(later.values.map((value) => value.key));
  for (const value of earlier.values) {
    if (laterKeys.has(value.key) && !change.old.has(value.key) && !isSetting(value)) continue;
    const fresh = later.values.filter(
      (other) => other.key !== value.key && comparable(other.type, value.type),
    );
    const by = fresh.find((other) => !change.old.has(other.key)) ?? fresh[0];
    if (!change.old.has(value.key) && !isDistinct(value)) continue;
    if (by !== undefined || change.old.has(value.key))
      dead.set(value.key, { by: by?.text ?? "", order: later.order });
  }
}
