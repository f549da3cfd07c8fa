import type { DigestInput } from "../digest.ts";
import { openFailures } from "./failures.ts";
import { fold } from "./fold.ts";
import { gist } from "./gist.ts";
import { goalLines, isTrivialRequest } from "./goal.ts";
import { languageOf } from "./language.ts";
import { parseSummary } from "./previous-summary.ts";
import type { Item } from "./render.ts";
import type { SectionName, Sections } from "./sections.ts";
import { type Statement, statementOf, statementsOf } from "./statement.ts";
import { type Supersession, supersede } from "./supersede.ts";
import { type Term, termsOf } from "./terms.ts";
import { todosOf } from "./todo.ts";
import { type ToolUse, toolUseOf } from "./tool-use.ts";
import { type Transcript, transcriptOf } from "./transcript.ts";
import { workLog } from "./work-log.ts";

/** Everything read from a span, before it is weighed against the budget. */
interface Reading {
  transcript: Transcript;
  uses: ToolUse[];
  /** Of the former summary, then of the span, in order. */
  earlier: EarlierStatement[];
  statements: Statement[];
  sections: Sections;
  supersession: Supersession;
  terms: Term[];
}

/** A line of the former summary, read as a statement. */
interface EarlierStatement {
  statement: Statement;
  section: SectionName;
}

/** All lines that could stand in the summary, scored. */
export function digestItems(
  input: Pick<DigestInput, "messages" | "previousSummary" | "focus" | "kind">,
): Item[] {
  const reading = read(input);
  const items = [
    ...goalItems(reading),
    ...statementItems(reading),
    ...workItems(reading),
    ...failureItems(reading),
    ...todoItems(reading),
    ...termItems(reading),
  ];
  return distinct(focused(items, input.focus).filter((item) => item.score > 0 && isReadable(item.text)));
}

function read(input: Pick<DigestInput, "messages" | "previousSummary">): Reading {
  const transcript = transcriptOf(input.messages);
  const former = [input.previousSummary ?? "", ...transcript.summaries].filter((text) => text !== "");
  const sections = mergeSections(former.map(parseSummary));
  const uses = transcript.calls.map(toolUseOf);
  const statements = statementsOf(transcript.said);
  const earlier = earlierStatements(sections);
  const supersession = supersede([
    ...earlier.map((entry) => entry.statement),
    ...statements.filter(isWorthComparing),
  ]);
  const terms = termsOf({ statements, uses, turnCount: transcript.turns.length });
  return { transcript, uses, earlier, statements, sections, supersession, terms };
}

/** The assistant's remarks in passing change nothing that was decided. */
function isWorthComparing(statement: Statement): boolean {
  return statement.speaker === "user" || statement.weight >= 2;
}

function mergeSections(all: readonly Sections[]): Sections {
  const merged = parseSummary("");
  for (const sections of all)
    for (const name of Object.keys(merged) as SectionName[]) merged[name].push(...sections[name]);
  return merged;
}

const STATED: SectionName[] = ["goal", "constraints", "decisions", "critical"];

function earlierStatements(sections: Sections): EarlierStatement[] {
  let order = -1_000_000;
  return STATED.flatMap((section) =>
    sections[section].map((text) => {
      const source = { speaker: "user" as const, turn: 0, order: order++, closing: false };
      return { statement: statementOf(text, source, languageOf(text, "en")), section };
    }),
  );
}

// --- goal ---

function goalItems(reading: Reading): Item[] {
  const earlier = reading.earlier.filter((entry) => entry.section === "goal");
  const kept = earlier.map(
    ({ statement }, position): Item => ({
      section: "goal",
      text: refreshed(statement.text, statement.order, reading.supersession),
      score: position === 0 ? 12 : 2 + (2 * position) / earlier.length,
      position: position - earlier.length,
    }),
  );
  const lines = goalLines({
    turns: reading.transcript.turns,
    uses: reading.uses,
    statements: reading.statements,
    hasEarlierGoal: earlier.length > 0,
  });
  return [
    ...kept,
    ...lines.map((line) => ({
      section: "goal" as const,
      text: refreshed(line.text, orderOfTurn(reading, line.turn), reading.supersession),
      score: line.weight,
      position: line.turn,
    })),
  ];
}

function orderOfTurn(reading: Reading, turn: number): number {
  return reading.transcript.said.find((line) => line.turn === turn)?.order ?? 0;
}

/** A line that names a value which was replaced later says the new one. */
function refreshed(text: string, order: number, { deadValues }: Supersession): string {
  let result = text;
  for (const [key, { by, order: changedAt }] of deadValues) {
    if (
      changedAt <= order ||
      by === "" ||
      key.length < 3 ||
      result.includes("(changed)") ||
      !hasToken(fold(result), key) ||
      hasToken(fold(result), fold(by))
    )
      continue;
    result = result.replace(
      new RegExp(key.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"),
      () => `${by} (changed)`,
    );
  }
  return result;
}

function hasToken(folded: string, key: string): boolean {
  if (key === "") return false;
  for (let at = folded.indexOf(key); at !== -1; at = folded.indexOf(key, at + 1)) {
    const free = (char: string | undefined): boolean => char === undefined || !/[a-z0-9_]/i.test(char);
    if (free(folded[at - 1]) && free(folded[at + key.length])) return true;
  }
  return false;
}

// --- what was said ---

const SECTION_OF: Partial<Record<Statement["kind"], SectionName>> = {
  constraint: "constraints",
  preference: "constraints",
  decision: "decisions",
  fact: "critical",
  plain: "critical",
};

function statementItems(reading: Reading): Item[] {
  const used = new Map(reading.terms.map((term) => [term.key, term.score]));
  const turnCount = Math.max(1, reading.transcript.turns.length);
  const items: Item[] = [];
  for (const { statement, section } of reading.earlier) {
    if (section === "goal" || isGone(statement, reading.supersession)) continue;
    const base = { constraints: 9.8, decisions: 7.5, critical: 5.5 }[section as string] ?? 5;
    const score = base * 0.6 + Math.max(2, statement.weight) * 0.35 + comesBack(statement, used) * 0.5;
    items.push({ section, text: statement.text, score, position: statement.order });
  }
  for (const statement of reading.statements) {
    const section = sectionOf(statement);
    if (section === undefined || statement.weight <= 1 || isGone(statement, reading.supersession)) continue;
    const recency = 0.8 * (statement.turn / turnCount);
    items.push({
      section,
      text: clipped(statement),
      score: statement.weight + recency + Math.min(2, comesBack(statement, used)),
      position: statement.order,
    });
  }
  return items;
}

function sectionOf(statement: Statement): SectionName | undefined {
  const section = SECTION_OF[statement.kind];
  if (statement.speaker === "user") {
    if (statement.kind === "plain" && (statement.values.length === 0 || isTrivialRequest(statement.text)))
      return undefined;
    return section;
  }
  if (NARRATION.test(statement.text) || /[:：]$/.test(statement.text)) return undefined;
  if (statement.kind === "decision" && !CHOOSES.test(statement.folded))
    return statement.values.length > 0 ? "critical" : undefined;
  return statement.kind === "plain" ? undefined : section;
}

const CHOOSES =
  /\b(?:decid\w+|chose|chosen|choose|we'll use|we will use|going with|go with|settled|agreed|instead|switch\w*|renam\w+|replac\w+)\b|\P{ASCII}/u;
const NARRATION =
  /^(?:(?:ok|okay|now|next|good|great|perfect|alright|so|and|but|first|then|hmm|wait|aha|ah|yes|right|you're right)[,!.]?\s+)*(?:let me|let's|lets|i'll|i will|i need to|i should|i can see|i see|i'm going to|looking at|now|here's|here is|this (?:shows|means)|there(?:'s| is| are))\b/i;

function isGone(statement: Statement, { replaced, deadValues }: Supersession): boolean {
  if (replaced.has(statement)) return true;
  return statement.values.some((value) => {
    const dead = deadValues.get(value.key);
    if (dead === undefined || dead.order <= statement.order || value.key.length < 2) return false;
    return dead.by === "" || !hasToken(statement.folded, fold(dead.by));
  });
}

/** How much the rest of the span comes back to what the statement names. */
function comesBack(statement: Statement, used: ReadonlyMap<string, number>): number {
  return Math.max(0, ...statement.values.map((value) => used.get(value.key) ?? 0)) * 0.5;
}

/** A long sentence is cut to the part that carries its cue. */
function clipped(statement: Statement): string {
  if (statement.text.length <= 300) return statement.text;
  const cue = statement.hits.find((hit) =>
    ["forbid", "require", "prefer", "decide", "change"].includes(hit.cue),
  );
  const start = cue === undefined || cue.start < 180 ? 0 : startOfClause(statement.text, cue.start);
  return `${start > 0 ? "…" : ""}${gist(statement.text.slice(start), 300)}`;
}

function startOfClause(text: string, at: number): number {
  const head = text.slice(0, Math.max(0, at - 20));
  return Math.max(
    0,
    ...[", ", "; ", ": ", " - ", "，", "、"].map((mark) => head.lastIndexOf(mark) + mark.length),
  );
}

// --- what was done, what failed, what comes next ---

function workItems(reading: Reading): Item[] {
  const earlier = reading.sections.done;
  const log = workLog({
    turns: reading.transcript.turns,
    uses: reading.uses,
    statements: reading.statements,
  });
  const last = reading.transcript.turns.at(-1)?.turn ?? 0;
  const dead = (text: string): boolean => namesDead(text, reading.supersession);
  return [
    ...earlier.map(
      (text, at): Item => ({
        section: "done",
        text: gist(text, 140),
        score: 1 + (1.5 * (at + 1)) / earlier.length,
        position: at - earlier.length,
      }),
    ),
    ...log
      .filter((item) => !dead(item.text))
      .map(
        (item): Item => ({
          section: "done",
          text: item.text,
          score: 2 + Math.min(2.5, Math.log2(1 + item.size)) + (2 * item.turn) / Math.max(1, last),
          position: item.turn,
        }),
      ),
    ...inProgress(reading),
  ];
}

function namesDead(text: string, { deadValues }: Supersession): boolean {
  const folded = fold(text);
  for (const [key, { by }] of deadValues)
    if (key.length > 2 && hasToken(folded, key) && !(by !== "" && hasToken(folded, fold(by)))) return true;
  return false;
}

function inProgress({ transcript, statements }: Reading): Item[] {
  const turn = transcript.turns.findLast((one) => !isTrivialRequest(one.request));
  if (turn === undefined) return [];
  const last = statements.findLast(
    (one) => one.speaker === "assistant" && one.turn >= turn.turn && one.text.length > 20,
  );
  const state = last === undefined ? "" : ` — last: ${gist(last.text, 160)}`;
  return [{ section: "inProgress", text: `“${gist(turn.request, 160)}”${state}`, score: 9, position: 0 }];
}

function failureItems(reading: Reading): Item[] {
  const open = openFailures({
    uses: reading.uses,
    statements: reading.statements,
    transcript: reading.transcript,
    earlier: reading.sections.blocked,
  });
  return open.map((failure, at) => ({
    section: "blocked",
    text: gist(failure.text, 300),
    score: failure.weight,
    position: at,
  }));
}

function todoItems(reading: Reading): Item[] {
  const todos = todosOf({
    transcript: reading.transcript,
    uses: reading.uses,
    statements: reading.statements,
    earlier: reading.sections.next,
  });
  return todos
    .filter((todo) => todo.state !== "done" && !namesDead(todo.text, reading.supersession))
    .map(
      (todo, at): Item => ({
        section: "next",
        text: `[ ] ${gist(todo.text, 240)}${todo.state === "active" ? " (in progress)" : ""}`,
        score: todo.weight,
        position: at,
      }),
    );
}

const MAX_TERMS = 40;

function termItems(reading: Reading): Item[] {
  return reading.terms
    .filter((term) => !reading.supersession.deadValues.has(term.key))
    .slice(0, MAX_TERMS)
    .map((term, at) => ({
      section: "critical" as const,
      text:
        term.context === undefined || term.context === term.text
          ? `\`${term.text}\``
          : `\`${term.text}\`: ${term.context}`,
      score: Math.min(4.5, term.score),
      position: 1_000_000 + at,
    }));
}

// --- all lines ---

function focused(items: Item[], focus: string | undefined): Item[] {
  const words = fold(focus ?? "")
    .split(/[^\p{L}\p{N}_./-]+/u)
    .filter((word) => word.length > 2);
  if (words.length === 0) return items;
  return items.map((item) => {
    const folded = fold(item.text);
    const found = words.filter((word) => folded.includes(word)).length;
    return found === 0 ? item : { ...item, score: item.score + 1.5 + found };
  });
}

function isReadable(text: string): boolean {
  return /[\p{L}\p{N}]{2}|[\p{Script=Han}]/u.test(text);
}

/** Of lines that say the same, the best scored stays. */
function distinct(items: readonly Item[]): Item[] {
  const best = new Map<string, Item>();
  for (const item of items) {
    const key = `${fold(item.text)
      .replace(/[^\p{L}\p{N}]+/gu, " ")
      .trim()}`;
    const known = best.get(key);
    if (known === undefined || known.score < item.score) best.set(key, item);
  }
  return items.filter(
    (item) =>
      best.get(
        `${fold(item.text)
          .replace(/[^\p{L}\p{N}]+/gu, " ")
          .trim()}`,
      ) === item,
  );
}
