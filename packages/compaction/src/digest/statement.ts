import { type CueHit, cueHits } from "./cues.ts";
import { fold } from "./fold.ts";
import { type Language, languageOf } from "./language.ts";
import type { CueClass } from "./lexicon/lexicon.ts";
import { sentences } from "./sentences.ts";
import { subjectOf } from "./subject.ts";
import type { SaidLine, Speaker } from "./transcript.ts";
import { type Value, valuesOf } from "./values.ts";

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

/** A sentence, read: what kind of thing it says, about what, with which values. */
export interface Statement {
  text: string;
  folded: string;
  kind: StatementKind;
  /** How sure the kind is and how much it matters, 0 to about 12, before context is looked at. */
  weight: number;
  cues: ReadonlySet<CueClass>;
  hits: readonly CueHit[];
  values: readonly Value[];
  subject: ReadonlySet<string>;
  speaker: Speaker;
  turn: number;
  order: number;
  language: Language;
  closing: boolean;
}

/** Where a statement comes from: everything about it but its words. */
export type StatementSource = Pick<Statement, "speaker" | "turn" | "order" | "closing">;

/** The statements of what was said, in order. Pasted lines make none. */
export function statementsOf(said: readonly SaidLine[]): Statement[] {
  const found: Statement[] = [];
  for (const line of said) {
    if (line.pasted || line.heading) continue;
    let before = "";
    for (const sentence of sentences(line.text)) {
      const statement = statementOf(sentence, line, line.language);
      found.push(
        leans(statement) && before !== "" ? { ...statement, text: `${before} ${sentence}` } : statement,
      );
      before = sentence.length < 160 ? sentence : "";
    }
  }
  return found;
}

/** A rule or a value without a subject ("should be dimmer") leans on the sentence before it. */
function leans(statement: Statement): boolean {
  if (statement.speaker !== "user" || statement.weight < 4) return false;
  return statement.subject.size <= 1 && statement.text.length < 60;
}

export function statementOf(text: string, source: StatementSource, fallback: Language): Statement {
  const language = languageOf(text, fallback);
  const folded = fold(text);
  const hits = longest(cueHits(folded, language));
  const cues = new Set(hits.map((hit) => hit.cue));
  const values = valuesOf(text, language);
  const kind = source.speaker === "user" ? userKind(folded, cues) : assistantKind(folded, cues);
  return {
    text,
    folded,
    kind,
    weight:
      source.speaker === "user"
        ? userWeight(kind, text, cues, values)
        : assistantWeight(kind, cues, values, source),
    cues,
    hits,
    values,
    subject: subjectOf(folded, language, values),
    speaker: source.speaker,
    turn: source.turn,
    order: source.order,
    language,
    closing: source.closing,
  };
}

/** A phrase inside a longer phrase of another class does not count: "don't forget" forbids nothing. */
function longest(hits: readonly CueHit[]): CueHit[] {
  return hits.filter(
    (hit) =>
      !hits.some(
        (other) =>
          other.cue !== hit.cue &&
          other.start <= hit.start &&
          other.end >= hit.end &&
          other.end - other.start > hit.end - hit.start,
      ),
  );
}

const QUESTION = /[?？]["')」]?\s*$|[吗呢么]\s*$|(?:ですか|ますか|でしょうか|かな|까요)[。.]?\s*$/u;
const POLITE =
  /\b(?:please|pls|plz|can you|could you|would you|will you|bitte|kannst du|konntest du|peux-tu|pouvez-vous|tu peux|s'il te|s'il vous|puedes|podrias|por favor|pode|poderia|puoi|potresti|per favore)\b|пожалуйста|можешь|请|能不能|可以.*吗|ください|くれる|もらえ|주세요|줄래/u;
/** "No X" at the start of a clause forbids X; "no, …" answers. */
const NO_THING =
  /(?:^|[,;:(–—-]\s?|\b(?:and|but|so|please|also|und|aber|bitte|et|mais|y|pero|e|ma|и|но)\s)(?:no|zero|kein|keine|keinen|pas de|pas d'|zero|sin|sem|senza|без|никаких)\s(?!need\b|idea\b|problem)[\p{L}`"']/u;
const REQUEST =
  /^(?:(?:ok|okay|alright|great|cool|now|then|next|so|and|also|hey|hi|well|good|perfect|nice|yes|yeah|please|pls|dude|hmm+),?\s+)*(?:(?:can|could|would|will) (?:you|we)|let's|lets|let us|i(?:'d| would)? (?:want|need|like) (?:you )?to|we (?:need|have|want) to|please|try|go|read|run|show|check|look|open|fix|add|create|write|make|update|test|explain|continue|do|remove|delete|kill|implement|refactor|investigate|commit|push|find|build|start|finish|review|use|put|get|give|help|move|set|change|adjust|modify|copy|undo|revert|debug|search|list|print|tell|describe|think|analy[sz]e|merge|release|deploy|install|clean|extend|improve|document|port|convert|migrate|wire|hook|generate|split|extract|rename|replace|bitte|kannst du|lies|zeig|schau|pruf|bau|schreib|fuge|mach|erstell|teste|starte|andere|peux-tu|pouvez-vous|lis|montre|regarde|ajoute|cree|ecris|corrige|lance|verifie|puedes|lee|muestra|mira|anade|crea|escribe|arregla|ejecuta|revisa|haz|pode|leia|leggi|mostra|controlla|aggiungi|scrivi|esegui|прочитай|покажи|посмотри|добавь|создай|напиши|исправь|запусти|проверь|сделай|реализуй)\b|^(?:请|帮我|帮忙|看看|看一下|读一下|跑一下|加一个|写一个|实现|修复|检查|继续)|(?:してください|して下さい|してほしい|お願いします|해 주세요|해주세요|해줘)[。.!]?$/u;

function userKind(folded: string, cues: ReadonlySet<CueClass>): StatementKind {
  const asks = QUESTION.test(folded);
  const rules = cues.has("forbid") || cues.has("require") || NO_THING.test(folded);
  if (asks && !(rules && POLITE.test(folded))) return "question";
  if (cues.has("reports")) return "plain";
  if (cues.has("todo") && !cues.has("require")) return "todo";
  if (rules && !(cues.has("broken") && !cues.has("require") && !cues.has("decide"))) return "constraint";
  if (cues.has("prefer")) return "preference";
  if (cues.has("change") || cues.has("revoke")) return "decision";
  const requests = REQUEST.test(folded);
  if (cues.has("decide") && !(requests && !DECIDES.test(folded))) return "decision";
  if (cues.has("ought") && !requests) return "constraint";
  if (cues.has("fact") && !requests) return "fact";
  if (cues.has("todo")) return "todo";
  if (cues.has("broken")) return "trouble";
  return requests ? "request" : "plain";
}

const DECIDES =
  /\b(?:go with|going with|let's (?:use|keep|call|take)|lets (?:use|keep|call|take)|call it|name it|stick with)\b|^(?:use|keep|pick|choose)\b|\P{ASCII}/u;

function assistantKind(folded: string, cues: ReadonlySet<CueClass>): StatementKind {
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
  decision: 8.5,
  fact: 7,
  todo: 8,
  trouble: 4,
  request: 2.5,
  question: 1,
  plain: 3,
};

function userWeight(
  kind: StatementKind,
  text: string,
  cues: ReadonlySet<CueClass>,
  values: readonly Value[],
): number {
  let weight = USER_WEIGHT[kind];
  if (kind === "constraint" && !cues.has("forbid") && !cues.has("require") && cues.has("ought")) weight -= 3;
  if (kind === "plain" && values.length > 0) weight += 2.2;
  weight += 0.5 * Math.min(3, values.length);
  if (/\b\p{Lu}{4,}\b/u.test(text) && /\p{Ll}{3}/u.test(text)) weight += 0.7;
  if (/[!！]\s*$/.test(text)) weight += 0.3;
  return weight - lengthPenalty(text);
}

/** Very short says nothing by itself, very long costs more than it says. */
function lengthPenalty(text: string): number {
  const size = /[\u2e80-\uffff]/.test(text) ? text.length * 2.5 : text.length;
  if (size < 12) return 3;
  return size > 260 ? Math.min(3, (size - 260) / 120) : 0;
}

function assistantWeight(
  kind: StatementKind,
  cues: ReadonlySet<CueClass>,
  values: readonly Value[],
  source: StatementSource,
): number {
  const base = { decision: 4, fact: 3.5, trouble: 2.5, plain: 0.5 }[kind as string] ?? 0;
  if (base === 0) return 0;
  if (kind === "fact" && values.length === 0) return 1;
  const bonus = (source.closing ? 0.7 : 0) + 0.6 * Math.min(3, values.length) + (cues.has("fact") ? 0.5 : 0);
  return values.length === 0 ? base - 1.5 + bonus : base + bonus;
}
