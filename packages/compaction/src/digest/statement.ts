import { type CueHit, readCues } from "./cues.ts";
import { fold } from "./fold.ts";
import { judge, type StatementKind } from "./judge.ts";
import { languageOf } from "./language.ts";
import type { CueClass } from "./lexicon/lexicon.ts";
import type { Language } from "./lexicon/lexicons.ts";
import { sentences } from "./sentences.ts";
import { subjectOf } from "./subject.ts";
import type { SaidLine, Speaker } from "./transcript.ts";
import { type Value, valuesOf } from "./values.ts";

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
  /** Ends where the message was cut off. */
  cut?: boolean;
}

/** Where a statement comes from: everything about it but its words. */
export type StatementSource = Pick<Statement, "speaker" | "turn" | "order" | "closing" | "cut">;

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
      before = sentence.length < 160 && statement.weight < 3 ? sentence : "";
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
  const cued = readCues(folded, language);
  const hits = longest(cued.hits);
  const cues = new Set(hits.map((hit) => hit.cue));
  const values = valuesOf(text, language);
  const subject = subjectOf(folded, language, values);
  const { speaker, closing } = source;
  const judged = judge({
    text,
    folded,
    own: cued.own,
    cues,
    values,
    subjectSize: subject.size,
    speaker,
    closing,
  });
  return {
    text,
    folded,
    ...judged,
    cues,
    hits,
    values,
    subject,
    speaker,
    ...(source.cut && { cut: true }),
    turn: source.turn,
    order: source.order,
    language,
    closing,
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
