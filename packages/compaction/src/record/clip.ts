import { estimateTokens } from "@bonsai-agent/messages";
import { contentWords, normalForm, sentencesOf, termsIn } from "./sentence.ts";

/** What stands where sentences were left out. */
const LEFT_OUT = "…";

interface Statement {
  /** The place of its message. */
  of: number;
  /** True for the first of its message: it tends to say what the rest is about. */
  isLead: boolean;
  text: string;
  tokens: number;
  rank: number;
}

/** How the statements of a kind are ranked beside what all have in common. */
interface ClipOptions {
  maxTokens: number;
  /** What a message takes beside its words. */
  tokensBeside: (at: number) => number;
  /** How much the place counts: from 0 for the oldest to so much for the newest. */
  recency: number;
  /** The shape that makes a statement a repetition of another. */
  shapeOf: (sentence: string) => string;
  /** What the sentences of a text are worth beside that. Default: nothing. */
  worthOf?: (at: number) => number;
  /** What statements should be about above all. Default: nothing. */
  focus?: string | undefined;
}

/**
 * As many sentences of the texts as fit, each text in the order of its sentences; undefined for a text of which nothing is
 * left. The least specific and the oldest go first; what names something or forbids something, last.
 *
 * Invariant: of two statements on the same subject, the later one is never left out before the earlier one.
 */
export function clippedTexts(texts: readonly string[], options: ClipOptions): (string | undefined)[] {
  const { maxTokens, tokensBeside } = options;
  const whole = texts.map((text, at) => estimateTokens(text) + tokensBeside(at));
  if (whole.reduce((sum, tokens) => sum + tokens, 0) <= maxTokens) return [...texts];
  const statements = rankedStatements(texts, options);
  const order = statements
    .map((_, at) => at)
    .sort((a, b) => statements[b]!.rank - statements[a]!.rank || b - a);
  const kept = new Set<Statement>();
  const messages = new Set<number>();
  let tokens = 0;
  for (const at of order) {
    const statement = statements[at]!;
    const size =
      statement.tokens + (messages.has(statement.of) ? 0 : tokensBeside(statement.of) + MARK_TOKENS);
    if (tokens + size > maxTokens) break;
    tokens += size;
    kept.add(statement);
    messages.add(statement.of);
  }
  const byText = Map.groupBy(statements, ({ of }) => of);
  return texts.map((text, of) => keptText(text, byText.get(of) ?? [], kept));
}

const MARK_TOKENS = 3;

function keptText(text: string, own: readonly Statement[], kept: ReadonlySet<Statement>): string | undefined {
  if (own.length === 0) return undefined;
  const tokens = own.reduce((sum, statement) => sum + statement.tokens, 0);
  // A sentence that was cut is not worth its whole length.
  if (own.every((statement) => kept.has(statement)) && estimateTokens(text) <= tokens) return text;
  const parts: string[] = [];
  for (const statement of own) {
    if (kept.has(statement)) parts.push(statement.text);
    else if (parts.at(-1) !== LEFT_OUT) parts.push(LEFT_OUT);
  }
  return parts.every((part) => part === LEFT_OUT) ? undefined : parts.join(" ");
}

/** Of so few statements a word is rare enough to be what they are about. */
const RARE = 3;
const WEIGHT = {
  specific: 2,
  information: 1.5,
  lead: 1.5,
  focus: 4,
  repeated: -20,
};

function rankedStatements(
  texts: readonly string[],
  { recency, shapeOf, worthOf, focus = "" }: ClipOptions,
): Statement[] {
  const statements = texts.flatMap((text, of) =>
    sentencesOf(text)
      .map(unmarked)
      .map((sentence, at) => ({
        isLead: at === 0,
        of,
        text: sentence,
        tokens: estimateTokens(sentence) + 1,
        rank: 0,
      })),
  );
  const last = new Map(statements.map(({ text }, at) => [normalForm(text), at]));
  const subjects = statements.map(({ text }) => new Set([...contentWords(text), ...termsIn(text)]));
  const uses = counted(subjects.flatMap((words) => [...words]));
  const focused = new Set([...contentWords(focus), ...termsIn(focus)]);
  const shapes = statements.map(({ text }) => shapeOf(text));
  const repeats = counted(shapes);
  statements.forEach((statement, at) => {
    const rare = [...subjects[at]!].filter((word) => uses.get(word)! <= RARE).length;
    statement.rank =
      WEIGHT.specific * Math.min(1, termsIn(statement.text).size) +
      WEIGHT.information * Math.min(1, rare / 3) +
      (last.get(normalForm(statement.text)) === at ? 0 : WEIGHT.repeated) +
      (statement.isLead ? WEIGHT.lead / repeats.get(shapes[at]!)! : 0) +
      // What is said in the same way again and again tells little.
      -Math.log2(repeats.get(shapes[at]!)!) +
      ([...subjects[at]!].some((word) => focused.has(word)) ? WEIGHT.focus : 0) +
      (worthOf?.(statement.of) ?? 0) +
      (recency * at) / statements.length;
  });
  keepLatest(statements, subjects, uses);
  return statements;
}

/** Without the marks of an earlier clipping at its ends. */
function unmarked(sentence: string): string {
  return sentence.replace(/^…\s+/, "").replace(/\s+…$/, "");
}

/** A statement is worth at least what an earlier one on the same subject is: it may take that one back. */
function keepLatest(
  statements: Statement[],
  subjects: readonly ReadonlySet<string>[],
  uses: ReadonlyMap<string, number>,
): void {
  const highest = new Map<string, number>();
  statements.forEach((statement, at) => {
    const rare = [...subjects[at]!].filter((word) => uses.get(word)! <= RARE);
    statement.rank = Math.max(statement.rank, ...rare.map((word) => highest.get(word) ?? statement.rank));
    for (const word of rare) highest.set(word, statement.rank);
  });
}

/** How often each of the values is there. */
export function counted(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
