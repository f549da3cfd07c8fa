import type { Change } from "./change.ts";
import { fold } from "./fold.ts";
import { nothingAt } from "./judge.ts";
import { stopwords } from "./language.ts";
import { lexicons } from "./lexicon/lexicons.ts";
import type { Statement } from "./statement.ts";
import { subjectOf } from "./subject.ts";
import type { Value } from "./values.ts";

/**
 * Whether two rules of one shape hold side by side: "never touch ticket 7", "never touch ticket 8". Prohibitions add
 * up, also with what is asked for ("never use 8080", "use 9090"), and so do demands about numbered things. A limit or a
 * setting has one value at a time; a word of change, or the old value named as such, puts the later in the earlier's
 * place.
 */
export function addsUp(later: Statement, change: Change, earlier: Statement): boolean {
  if (change.turns || earlier.values.some((value) => change.old.has(value.key))) return false;
  if (LIMITS.test(later.folded) || LIMITS.test(earlier.folded)) return false;
  const sides = Number(forbids(later)) + Number(forbids(earlier));
  if (sides === 2 || (sides === 1 && !sharesValue(later, earlier))) return true;
  return demandsOfThing(later) && demandsOfThing(earlier);
}

/** "You may touch X now" lifts "never touch X", of the same X and all that was said of it; "you may read X" does not. */
export function lifts(later: Statement, earlier: Statement): boolean {
  if (!forbids(earlier) || forbids(later) || later.kind === "constraint") return false;
  if (!PERMITS.test(later.folded)) return false;
  if (!sharesValue(later, earlier)) return false;
  const said = [...forbiddenThings(earlier)];
  // The verb may be a part of the word that forbids: "変更しないで".
  if (said.length === 0) return [...earlier.subject].some((word) => later.subject.has(word));
  return said.every((word) => later.subject.has(word));
}

/** What it is about but for the words that forbid: where words are not separated, these lend it pairs of their own. */
function forbiddenThings({ folded, hits, language, values }: Statement): Set<string> {
  const rest = hits
    .filter((hit) => hit.cue === "forbid")
    .reduce(
      (text, { start, end }) => text.slice(0, start) + " ".repeat(end - start) + text.slice(end),
      folded,
    );
  return subjectOf(rest, language, values);
}

function sharesValue(later: Statement, earlier: Statement): boolean {
  const known = new Set(earlier.values.map((value) => value.key));
  return later.values.some((value) => known.has(value.key));
}

/** Forbids one of its values; "port 8080, don't change it" does not. */
function forbids({ folded, hits, values, language }: Statement): boolean {
  const no = hits.filter((hit) => hit.cue === "forbid").map((hit) => hit.start);
  const places = [...no, nothingAt(folded)].filter((at) => at >= 0);
  if (lexicons[language].verbLast === true || values.length === 0) return places.length > 0;
  const last = Math.max(...values.map((value) => folded.lastIndexOf(fold(value.text))));
  return places.some((at) => at < last || !CLAUSE_END.test(folded.slice(last, at)));
}

const CLAUSE_END = /[,;:.!](?:\s|$)|[，。；！]|\s[–—-]\s/u;

function demandsOfThing(statement: Statement): boolean {
  return (
    statement.kind === "constraint" && statement.values.some((value) => isNumberOfThing(value, statement))
  );
}

/** The number in "ticket 7 must …": behind the word for the thing, not set ("use …"), and no count of what follows. */
function isNumberOfThing({ type, key }: Value, { folded, values, hits, language }: Statement): boolean {
  if (type !== "number" || !/^\d+$/.test(key)) return false;
  const at = folded.search(new RegExp(`(?<!\\d)${key}(?!\\d)`));
  const [thing] = folded.slice(0, at).match(/\p{L}+(?=\s?$)/u) ?? [];
  if (at === -1 || thing === undefined || SETTINGS.test(thing)) return false;
  if (hits.some((hit) => hit.cue === "decide" && hit.end <= at)) return false;
  const small = stopwords(language);
  // "Node 18" is a version.
  if (small.has(thing) || values.some((value) => value.key === thing)) return false;
  const rest = folded.slice(at + key.length);
  const next = at + key.length + (/^\s/.test(rest) ? 1 : 0);
  if (hits.some((hit) => hit.start <= next && hit.end > next)) return true;
  const [counted] = rest.match(/^\s?(?:\p{Script=Han}|\p{Script=Katakana}|\p{L}+)/u) ?? [];
  return counted === undefined || PARTICLE.test(counted) || small.has(counted.trim());
}

/** Behind a number they mark its part in the sentence: no counters. */
const PARTICLE = /^\s?(?:[\p{Script=Hiragana}]+|[은는을를이가에와과도의])/u;

/** Of these there is one at a time, whatever number stands behind them. */
const SETTINGS =
  /^(?:ports?|puerto|porta|porte?|порт\p{L}*|versions?|versione|versao|верси\p{L}*|timeouts?|level|size|delay)$|(?:端口|版本|级别|超时|ポート|バージョン|レベル|タイムアウト)$/u;

/** Words of more and less, and of exceptions: what they stand with has one bound, or is the only one. */
const LIMITS =
  /\b(?:more than|less than|\p{L}+er than|(?:over|within|above|below|under|beyond|before|after|past|uber|unter|vor|nach) \d+|(?:anything|anyone|any \p{L}+) but|except|ausser|sauf|excepto|exceto|eccetto|exceed\w*|at most|at least|up to|max\w*|minimum|limit\w*|capped|mehr als|weniger als|\p{L}+er als|uberschreit\w*|unterschreit\w*|hochstens|mindestens|(?:plus|moins) de|depass\w*|au (?:plus|moins)|(?:mas|menos|mais|meno) d[ei]|piu di|superar?\w*|exced\w*|ultrapass\w*|oltre)\b|кроме|больше|более|менее|меньше|дольше|превыш|свыше|максимум|минимум|超过|超出|[多少大小高低]于|以[上下内]|最[多少]|至[多少]|[上下]限|超え|超過|未満|最[大小]|より[多少長短大小]|以内|以外|除了|이상|이하|이내|미만|초과|최대|최소/u;

const PERMITS =
  /\b(?:(?:you|we|they|anyone|everyone) (?:may|can)|allowed|free to|(?:is|are) (?:fine|ok|okay)|darf|darfst|durfen|durft|erlaubt|tu peux|vous pouvez|on peut|puedes|podeis|se puede|podes?|podem|pode|puoi|potete|si puo)\b|можно|можешь|разреш|可以|允许|て(?:も)?(?:いい|よい|良い|構わない|かまわない)|해도/u;
