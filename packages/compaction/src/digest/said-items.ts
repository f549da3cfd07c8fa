import { type Agreement, agreementsOf } from "./assent.ts";
import { gist } from "./gist.ts";
import { goalLines, isTrivialRequest } from "./goal.ts";
import type { StatementKind } from "./judge.ts";
import { broughtUpToDate, isOutOfDate } from "./out-of-date.ts";
import type { EarlierStatement, Reading } from "./reading.ts";
import type { Item } from "./render.ts";
import type { SectionName } from "./sections.ts";
import type { Statement } from "./statement.ts";

/** The goal: the first request ever, then what was asked for since, by the work it set off. */
export function goalItems(reading: Reading): Item[] {
  const { supersession } = reading;
  const earlier = reading.earlier.filter(
    ({ section, statement }, at) => section === "goal" && (at === 0 || !isOutOfDate(statement, supersession)),
  );
  const lines = goalLines({
    turns: reading.transcript.turns.filter((turn) => turn.order < reading.end),
    uses: reading.uses,
    statements: reading.statements.filter(
      (one) => !supersession.replaced.has(one) && (one.turn <= 1 || !isOutOfDate(one, supersession)),
    ),
    hasEarlierGoal: earlier.length > 0,
  });
  return [
    ...goalsLeft(earlier, lines.length).map(
      ({ statement }, at): Item => ({
        section: "goal",
        text: broughtUpToDate(statement.text, statement.order, supersession),
        score: at === 0 ? 12 : 2 + at / earlier.length,
        position: at - earlier.length,
      }),
    ),
    ...lines.map(
      (line): Item => ({
        section: "goal",
        text: broughtUpToDate(line.text, line.order, supersession),
        score: line.weight,
        position: line.turn,
      }),
    ),
  ];
}

const GOAL_LINES = 4;

/** Of the goals told before, the first; the others were done or left when new ones came. */
function goalsLeft(earlier: readonly EarlierStatement[], newLines: number): EarlierStatement[] {
  const room = Math.max(0, GOAL_LINES - 1 - newLines);
  return earlier.filter((_, at) => at === 0 || at >= earlier.length - room);
}

/** Rules, tastes, choices and facts, in the words in which they were said. */
export function statementItems(reading: Reading): Item[] {
  const used = new Map(reading.terms.map((term) => [term.key, term.score]));
  const agreed = agreementsOf(reading.statements.filter((statement) => statement.order < reading.end));
  const assents = new Set(agreed.map(({ assent }) => assent));
  const said = reading.statements.filter(
    (statement) => statement.order < reading.end && !assents.has(statement),
  );
  return [
    ...agreed.flatMap(agreedItem),
    ...reading.earlier
      .filter((entry) => entry.section !== "goal" && !isOutOfDate(entry.statement, reading.supersession))
      .filter((entry) => !isOldHat(entry.statement, reading))
      .map((entry, at) => earlierItem(entry, at, used)),
    ...neighboursJoined(said.flatMap((statement) => saidItem(statement, reading, used))),
  ];
}

/** The user's choice in the assistant's words; the assent itself says nothing later. */
function agreedItem({ assent, text }: Agreement): Item[] {
  if (text === undefined) return [];
  return [
    {
      section: "decisions",
      text: `${text} (the assistant's proposal, agreed)`,
      score: 8.5,
      position: assent.order,
    },
  ];
}

const JOINED_CHARS = 220;

/** Short lines of one message and one section read better, and cheaper, as one: lists of values above all. */
function neighboursJoined(items: readonly Item[]): Item[] {
  const joined: Item[] = [];
  for (const item of items) {
    const last = joined.at(-1);
    const belongs = last !== undefined && last.position === item.position && last.section === item.section;
    if (
      belongs &&
      item.text.length < 50 &&
      last.text.length + item.text.length < JOINED_CHARS &&
      lastPart(last.text) < 50
    )
      joined[joined.length - 1] = {
        ...last,
        text: `${last.text.replace(/[.。]$/, "")}; ${item.text}`,
        score: Math.max(last.score, item.score),
      };
    else joined.push(item);
  }
  return joined;
}

function lastPart(text: string): number {
  return text.length - text.lastIndexOf("; ") - 1;
}

const EARLIER_BASE: Partial<Record<SectionName, number>> = { constraints: 9.8, decisions: 8, critical: 6 };

/** A line that was chosen before is judged by its section and by its own words; it counts more when it is used. */
function earlierItem(
  { statement, section }: EarlierStatement,
  at: number,
  used: ReadonlyMap<string, number>,
): Item {
  const base = (EARLIER_BASE[section] ?? 5) * 0.55 + Math.max(2, statement.weight) * 0.4;
  return {
    section,
    text: statement.text,
    score: base + comesBack(statement, used) * 0.5,
    position: at - 100_000,
  };
}

function saidItem(statement: Statement, reading: Reading, used: ReadonlyMap<string, number>): Item[] {
  const section = sectionOf(statement);
  if (section === undefined || statement.weight <= 1.5 || namesOnlyWork(statement, reading)) return [];
  if (isOutOfDate(statement, reading.supersession) || isOldHat(statement, reading)) return [];
  const recency = 0.8 * (statement.turn / Math.max(1, reading.transcript.turns.length));
  const score = statement.weight + recency + Math.min(2, comesBack(statement, used));
  return [{ section, text: clipped(statement), score, position: statement.order }];
}

/** Said again and again with other names: complaints and chores. Rules, tastes and choices may well sound alike. */
function isOldHat({ kind, folded, speaker, text, values }: Statement, { routine }: Reading): boolean {
  if (speaker !== "user") return false;
  const complains =
    kind === "constraint" &&
    values.some(({ type }) => type === "path") &&
    /^(?:\p{L}+,? )?(?:the|der|die|das|le|la|el|o|il)\s/u.test(folded);
  return (
    (kind === "plain" || complains) &&
    !values.some(({ type }) => TELLING.has(type)) &&
    routine.isRoutine(text)
  );
}

/** Values that stand for themselves, however often such a line is said. */
const TELLING: ReadonlySet<string> = new Set(["url", "hash", "version", "colour", "flag"]);

const SECTION_OF: Partial<Record<StatementKind, SectionName>> = {
  constraint: "constraints",
  preference: "constraints",
  decision: "decisions",
  fact: "critical",
  plain: "critical",
};

function sectionOf(statement: Statement): SectionName | undefined {
  const section = SECTION_OF[statement.kind];
  if (statement.speaker === "user") {
    return statement.kind === "plain" && isChatter(statement) ? undefined : section;
  }
  if (statement.kind === "plain" || NARRATION.test(statement.text) || /[:：]$/.test(statement.text))
    return undefined;
  if (statement.cut || (statement.cues.has("did") && statement.weight < 4.2)) return undefined;
  return statement.kind === "decision" && !chooses(statement) ? undefined : section;
}

/** Nothing to keep: acknowledgements, short remarks without a value, swearing. */
function isChatter({ text, folded, subject, values, weight }: Statement): boolean {
  if (isTrivialRequest(text) || weight < 3 || /[:：]$/.test(text)) return true;
  if (values.some(({ type }) => type !== "name")) return false;
  // Where words are not separated, the subject counts pairs of characters.
  const little = /[\u2e80-\uffff]/.test(text) ? 8 : 5;
  return CURSES.test(folded) || (values.length === 0 && subject.size < little);
}

const CURSES =
  /\b(?:fuck\w*|shit\w*|wtf|omfg|damn|crap|stupid|scheisse?|mist|merde|putain|mierda|joder|cazzo|porra)\b|w\.t\.f|блин|чёрт|черт|妈的|靠|くそ/u;

/** The assistant "switches" and "replaces" all the time; a choice is what it says it decided. */
function chooses({ folded, language, cues, weight }: Statement): boolean {
  if (weight < 3) return false;
  return language === "en" ? CHOOSES.test(folded) : cues.has("decide");
}

const CHOOSES =
  /\b(?:decid\w+|chose|chosen|i choose|we'll use|we will use|i'll use|i will use|going with|go with|settled|agreed|best (?:option|solution|approach)|cleanest)\b/;
const NARRATION =
  /^(?:(?:ok|okay|now|next|good|great|perfect|alright|so|and|but|first|then|hmm|wait|aha|ah|yes|right|you're right)[,!.]?\s+)*(?:let me|let's|lets|i'll|i will|i need to|i should|i can see|i see|i'm going to|i bet|looking at|now|here's|here is|this (?:shows|means)|there(?:'s| is| are)|maybe|perhaps|if)\b/i;

/** "Tidy up src/a.ts", said where src/a.ts was then worked on: what was done tells it. */
function namesOnlyWork(statement: Statement, { uses }: Reading): boolean {
  if (statement.speaker !== "user" || statement.kind !== "plain" || statement.values.length === 0)
    return false;
  const touched = uses.filter((use) => use.call.turn === statement.turn).flatMap((use) => use.paths);
  return statement.values.every(({ text }) =>
    touched.some((path) => path.endsWith(text) || text.endsWith(path)),
  );
}

/** How much the rest of the span comes back to what the statement names. */
function comesBack(statement: Statement, used: ReadonlyMap<string, number>): number {
  return Math.max(0, ...statement.values.map((value) => used.get(value.key) ?? 0)) * 0.5;
}

/** Words that open a remark and say nothing. */
const SAID_FIRST = /^(?:(?:ok|okay|alright|dude|hmm+|well|so|and|also|oh|omg|yeah|right|now),?\s+)+/i;

/** A long sentence is cut to the part that carries its cue. */
function clipped({ text, hits }: Statement): string {
  const shown = text.replace(SAID_FIRST, "");
  if (shown.length >= 12 && text.length <= 300) return shown;
  if (text.length <= 300) return text;
  const cue = hits.find((hit) => ["forbid", "require", "prefer", "decide", "change"].includes(hit.cue));
  const start = cue === undefined || cue.start < 180 ? 0 : startOfClause(text, cue.start);
  return `${start > 0 ? "…" : ""}${gist(text.slice(start), 300)}`;
}

function startOfClause(text: string, at: number): number {
  const head = text.slice(0, Math.max(0, at - 20));
  const ends = [", ", "; ", ": ", " - ", "，", "、"].map((mark) => ({ mark, at: head.lastIndexOf(mark) }));
  return Math.max(0, ...ends.map((end) => (end.at === -1 ? 0 : end.at + end.mark.length)));
}
