import type { DigestInput } from "./digest-input.ts";
import { languageOf } from "./language.ts";
import type { Language } from "./lexicon/lexicons.ts";
import { parseSummary } from "./previous-summary.ts";
import { Routine } from "./routine.ts";
import { emptySections, type SectionName, type Sections, sectionNames } from "./sections.ts";
import { type Statement, statementOf, statementsOf } from "./statement.ts";
import { type Supersession, supersede } from "./supersede.ts";
import { type Term, termsOf } from "./terms.ts";
import { type ToolUse, toolUseOf } from "./tool-use.ts";
import { type Transcript, transcriptOf } from "./transcript.ts";

/**
 * Everything read from a span, the former summary and what follows, before it is weighed against the budget. Messages
 * from `end` on only follow: they mend, replace and refer back, but are not told.
 */
export interface Reading {
  end: number;
  transcript: Transcript;
  uses: ToolUse[];
  statements: Statement[];
  /** The lines of the former summary that state something. */
  earlier: EarlierStatement[];
  /** The other lines of the former summary. */
  sections: Sections;
  supersession: Supersession;
  terms: Term[];
  /** What the user says again and again with other names. */
  routine: Routine;
}

/** A line of the former summary, read as a statement. */
export interface EarlierStatement {
  statement: Statement;
  section: SectionName;
}

export function readSpan(input: Pick<DigestInput, "messages" | "following" | "previousSummary">): Reading {
  const transcript = transcriptOf([...input.messages, ...(input.following ?? [])]);
  const former = [input.previousSummary ?? "", ...transcript.summaries].filter((text) => text !== "");
  const portions = former.flatMap(parseSummary);
  const earlier = earlierStatements(portions, transcript.turns.at(-1)?.language ?? "en");
  const uses = transcript.calls.map(toolUseOf);
  const statements = statementsOf(transcript.said);
  const compared = [...earlier.map((entry) => entry.statement), ...statements.filter(isWorthComparing)];
  return {
    end: input.messages.length,
    transcript,
    uses,
    statements,
    earlier,
    sections: mergeSections(portions),
    supersession: supersede(compared),
    routine: routineOf(statements, earlier),
    terms: termsOf({ statements, uses, turnCount: transcript.turns.length }),
  };
}

function routineOf(statements: readonly Statement[], earlier: readonly EarlierStatement[]): Routine {
  const routine = new Routine();
  earlier.forEach(({ statement }, at) => {
    routine.hear(statement.text, -1 - at);
  });
  for (const statement of statements)
    if (statement.speaker === "user") routine.hear(statement.text, statement.order);
  return routine;
}

/** The assistant's remarks in passing change nothing that was decided. */
function isWorthComparing(statement: Statement): boolean {
  return statement.speaker === "user" || statement.weight >= 2;
}

const STATED: SectionName[] = ["goal", "constraints", "decisions", "critical"];

/** In the order of the portions: what a later one says can replace what an earlier one said, whatever the section. */
function earlierStatements(portions: readonly Sections[], language: Language): EarlierStatement[] {
  let order = -1_000_000;
  return portions.flatMap((portion) => {
    order++;
    return STATED.flatMap((section) =>
      portion[section].map((text) => {
        const source = { speaker: "user" as const, turn: 0, order, closing: false };
        return { statement: statementOf(text, source, languageOf(text, language)), section };
      }),
    );
  });
}

/** A later portion tells of commands that pass now: what an earlier one says of their failing is over. */
function mergeSections(portions: readonly Sections[]): Sections {
  const merged = emptySections();
  for (const portion of portions) {
    const passed = portion.done.flatMap(passedCommands);
    merged.blocked = merged.blocked.filter((line) => !passed.some((key) => line.startsWith(`\`${key}\``)));
    for (const name of sectionNames) merged[name].push(...portion[name]);
  }
  return merged;
}

function passedCommands(line: string): string[] {
  return [...line.matchAll(/`([^`]+)`(?! failed(?:[,;]|$))/g)].map((match) => match[1]!);
}
