import type { CueClass } from "./lexicon/lexicon.ts";
import { asksPolitely, isNotMeant, isOneOff } from "./once.ts";
import { requestOf } from "./requests.ts";
import type { Speaker } from "./transcript.ts";
import type { Value } from "./values.ts";

export type StatementKind =
  | "constraint"
  | "preference"
  | "decision"
  | "fact"
  | "todo"
  | "trouble"
  | "request"
  | "question"
  | "plain";

/** What a sentence is judged by. */
export interface Judged {
  text: string;
  folded: string;
  /** Folded, without idioms and quotations. */
  own: string;
  cues: ReadonlySet<CueClass>;
  values: readonly Value[];
  subjectSize: number;
  speaker: Speaker;
  closing: boolean;
}

/** The kind of a sentence, and how much it matters (0 to about 12) before its context is looked at. */
export function judge(sentence: Judged): { kind: StatementKind; weight: number } {
  if (sentence.speaker === "user") {
    const kind = userKind(sentence);
    return { kind, weight: userWeight(kind, sentence) };
  }
  const kind = assistantKind(sentence);
  return { kind, weight: assistantWeight(kind, sentence) };
}

const QUESTION = /[?？]["')」]?\s*$|[吗呢么]\s*$|(?:ですか|ますか|でしょうか|かな|까요)[。.]?\s*$/u;
const POLITE =
  /\b(?:please|pls|plz|can you|could you|would you|will you|bitte|kannst du|konntest du|peux-tu|pouvez-vous|tu peux|s'il te|s'il vous|puedes|podrias|por favor|pode|poderia|puoi|potresti|per favore)\b|пожалуйста|можешь|请|能不能|可以.*吗|ください|くれる|もらえ|주세요|줄래/u;
/** "No X" at the start of a clause forbids X; "no, …" answers. */
const NO_THING =
  /(?:^|[,;:(–—-]\s?|\b(?:and|but|so|please|also|und|aber|bitte|et|mais|y|pero|e|ma|и|но)\s)(?:no|zero|kein|keine|keinen|pas de|pas d'|zero|sin|sem|senza|без|никаких)\s(?!need\b|idea\b|problem)[\p{L}`"']/u;
/** "I can't log in" asks for help and forbids nothing. */
const COMPLAINS =
  /\b(?:i|it|he|she|they|users?|nobody|ich|es|man|je|on|il|no me|me)\s(?:(?:still|just|now)\s)?(?:can't|cant|cannot|never|don't|doesn't|kann|kriege|n'arrive|ne peux|puedo|deja)\b/;
/** Words that turn a request into a choice. */
const DECIDES =
  /\b(?:go with|going with|let'?s (?:use|keep|call|name|take|make)|call it|name it|stick with)\b|^(?:use|keep|pick|choose)\b|\P{ASCII}/u;

/** "Stop reformatting", "but without downtime", "only additive migrations": rules by their place in the clause. */
const STRICT_CLAUSE =
  /(?:^|[,;:(–—-]\s?|\b(?:please|pls|sake|and|but|so|ok|well)\s)(?:just )?(?:stop \p{L}+ing\b|(?:only|nur|seulement|uniquement|solo|solamente|somente|apenas|soltanto|только) (?!if\b|when\b|because\b|then\b|wenn\b|si\b|se\b)\p{L}{3})|\b(?:but|aber|mais|pero|mas|ma|но)[, ]+(?:without|ohne|sans|sin|sem|senza|без) \p{L}|\bmake sure (?:that )?(?:nothing|nobody|no\b|none|it never|you never|we never)/u;
/** Work for later, even where it is said as a duty. */
const LATER =
  /^(?:\p{L}+,? )?(?:later|afterwards|luego|despues|mas tarde|depois|mais tarde|poi|dopo|piu tardi|plus tard|ensuite|spater|danach|nachher|потом|позже)(?!\p{L})|^(?:之后|稍后|回头|後で|あとで|나중에)/u;

/** Where a clause of the folded sentence wants none of a thing ("no new dependencies"), or -1. */
export const nothingAt = (folded: string): number => folded.search(NO_THING);

function isStrict({ own, cues }: Judged): boolean {
  return cues.has("forbid") || cues.has("require") || NO_THING.test(own) || STRICT_CLAUSE.test(own);
}

function userKind(sentence: Judged): StatementKind {
  const { folded, own, cues } = sentence;
  const rules = isStrict(sentence);
  if (QUESTION.test(folded) && !(rules && POLITE.test(folded)) && !(cues.has("prefer") && MUSES.test(folded)))
    return SHALL_WE.test(folded) ? "preference" : "question";
  if (SHALL_WE.test(folded)) return "preference";
  if (cues.has("reports") || ((rules || cues.has("ought")) && isNotMeant(folded))) return "plain";
  if (cues.has("decide") && DECIDED.test(own) && !rules) return "decision";
  if (cues.has("todo") && (!cues.has("require") || LATER.test(own))) return "todo";
  if (isOneOff(own) && !setsSomething(sentence)) return cues.has("broken") ? "trouble" : "request";
  if (rules && !(cues.has("broken") && COMPLAINS.test(folded))) return "constraint";
  if (cues.has("prefer")) return "preference";
  if (cues.has("change") || cues.has("revoke")) return "decision";
  return softKind(sentence, requestOf(folded));
}

/** "Can we use tabs here": a taste, put as a question. */
const SHALL_WE =
  /^(?:(?:and|also|so|ok|please|btw),? )*(?:can|could|may) we (?:please |just |always )?(?:use|keep|have|stick|write|stay|go|avoid|prefer)\b/;
const MUSES = /(?:かな|かしら)[。.]?$/u;
/** A choice that is called one, whatever word of time it has. */
const DECIDED =
  /\b(?:decided|settled|agreed|beschlossen|entschieden|abgemacht|c'est decide|decidido|decidimos|deciso|decisione)\b|решено|решили|决定了|定了|決めました|決定|정했/u;
/** "The tablet that crashes is a Zebra ET92". */
const NAMES_IT =
  /\b(?:is|are|was) (?:a|an|the|on|at)\b|\b(?:ist|sind) (?:ein|eine|das|der|die)\b|\best (?:un|une|le|la)\b|\bes (?:un|una|el|la)\b/u;

/** "Yes, do it with the outbox pattern": the choice of a way. */
const DO_IT_SO =
  /^(?:(?:ok|okay|yes|yeah|alright|right|then|so|ja|gut|oui|si|sim|да|好)[, ]+)*(?:(?:let's |we )?do (?:it|this|that) (?:with|via|using|by|the|as|in)\b|mach (?:es|das) mit\b|fais(?:-le| ca) avec\b|hazlo con\b|faz(?: isso)? com\b|fallo con\b|сделай (?:это )?(?:с|через)\s)|\bthen we do it\b|\bwe said\b/u;

function setsSomething({ cues, values }: Judged): boolean {
  return cues.has("change") || cues.has("revoke") || (cues.has("decide") && values.some(isSetting));
}

/** Where no strong cue tells: a request that sets a value is a choice, one that does not is work to do. */
function softKind({ folded, own, cues, values }: Judged, request: "do" | "look" | undefined): StatementKind {
  if (DO_IT_SO.test(folded)) return "decision";
  if (request === "look") return "request";
  if (request === "do")
    return (cues.has("decide") && DECIDES.test(folded)) || values.some(isSetting) ? "decision" : "request";
  if (cues.has("decide")) return "decision";
  if (cues.has("ought") && asksPolitely(own)) return cues.has("broken") ? "trouble" : "request";
  if (cues.has("ought")) return "constraint";
  if (cues.has("fact")) return "fact";
  if (cues.has("todo")) return "todo";
  if (cues.has("broken") && NAMES_IT.test(folded) && values.some(({ key }) => /\p{L}\d/u.test(key)))
    return "fact";
  return cues.has("broken") && !values.some(isSetting) ? "trouble" : "plain";
}

/** A value that a request gives rather than names: a number, an address, a new name. */
function isSetting({ type, key }: Value): boolean {
  if (type === "number") return /\d{2}/.test(key);
  return type === "url" || type === "colour" || type === "version" || type === "flag";
}

function assistantKind({ folded, cues }: Judged): StatementKind {
  if (QUESTION.test(folded)) return "question";
  if (cues.has("reports")) return "plain";
  if (cues.has("change") || cues.has("decide")) return "decision";
  if (cues.has("fact")) return "fact";
  if (cues.has("broken") && !cues.has("fixed")) return "trouble";
  if (cues.has("prefer") || cues.has("require") || cues.has("forbid")) return "fact";
  return "plain";
}

const USER_WEIGHT: Record<StatementKind, number> = {
  constraint: 10,
  preference: 8.5,
  decision: 8,
  fact: 7,
  todo: 8,
  trouble: 4,
  request: 2,
  question: 1,
  plain: 3,
};

function userWeight(kind: StatementKind, sentence: Judged): number {
  const { text, cues, values, subjectSize } = sentence;
  const strong = isStrict(sentence);
  let weight = USER_WEIGHT[kind];
  if (kind === "constraint" && !strong) weight -= 3;
  if (kind === "decision" && !cues.has("decide") && !cues.has("change") && !cues.has("revoke")) weight -= 2.5;
  if (kind === "plain") weight += plainBonus(values);
  if (kind === "plain" && subjectSize >= 3) weight += 0.5;
  if ((kind === "fact" || kind === "plain") && values.length === 0 && subjectSize < 3) weight -= 3;
  weight += 0.5 * Math.min(3, values.length);
  if (/\b\p{Lu}{4,}\b/u.test(text) && /\p{Ll}{3}/u.test(text)) weight += 0.7;
  if (/[!！]\s*$/.test(text)) weight += 0.3;
  return weight - lengthPenalty(text);
}

/** A plain sentence says something to keep by its values; a name alone may be an exclamation. */
function plainBonus(values: readonly Value[]): number {
  if (values.some(tells)) return 2.5;
  return values.some(({ type }) => type === "name") ? 1 : 0;
}

function tells({ type, key }: Value): boolean {
  if (type === "number") return /\d\D*\d|\d\s?[a-z%]/.test(key);
  return type !== "path" && type !== "name" && type !== "quote";
}

/** Very short says nothing by itself, very long costs more than it says. */
function lengthPenalty(text: string): number {
  const size = /[\u2e80-\uffff]/.test(text) ? text.length * 2.5 : text.length;
  if (size < 12) return 3;
  return size > 260 ? Math.min(3, (size - 260) / 120) : 0;
}

const SPECULATES =
  /\b(?:might|maybe|perhaps|probably|likely|possibly|could be|should (?:be|work|see|pick|detect|use)|suggests?|i think|i bet|seems|vielleicht|wahrscheinlich|vermutlich|peut-etre|probablement|quizas|tal vez|probablemente|forse|talvez)\b|может быть|наверное|вероятно|可能|也许|かもしれ|おそらく|たぶん|아마/u;
const EXPLAINS =
  /\b(?:root cause|cause[ds]?|because|reason|turns out|culprit|found it|found out|(?:problem|issue|bug|fix|trick|catch) (?:is|was)|ursache|grund|weil|stellt sich heraus|cause|raison|parce que|s'avere|causa|motivo|porque|resulta que|perche)\b|причина|потому что|оказалось|原因|因为|发现|原因|判明|なぜなら|원인|때문/u;

/** What the assistant says counts by what it explains and chooses; guesses and remarks on the way count little. */
function assistantWeight(kind: StatementKind, { folded, values, closing }: Judged): number {
  const base = { decision: 4, fact: 3, trouble: 2.5, plain: 0.5 }[kind as string] ?? 0;
  if (base === 0) return 0;
  const explains = EXPLAINS.test(folded);
  if (kind === "fact" && values.length === 0 && !explains) return 1;
  let weight = base + 0.5 * Math.min(3, values.length) + (closing ? 0.6 : -0.3);
  if (kind === "fact" && explains) weight += 1;
  if (SPECULATES.test(folded)) weight -= 1.8;
  return values.length === 0 ? weight - 1 : weight;
}
