import { readSummary } from "../marks.ts";
import { emptySections, type SectionName, type Sections } from "./sections.ts";

/**
 * Reads the prose of a former summary, the digest's own or a model's, back into items: one per top-level bullet or
 * paragraph, sub-bullets joined to their bullet. Text outside known headings counts as critical context. The summary
 * of a split turn has two portions, the later one second.
 */
export function parseSummary(text: string): Sections[] {
  return withoutCarryOver(text).split(SPLIT_TURN).map(parsePortion);
}

const SPLIT_TURN = /^\*\*Turn Context \(split turn\):\*\*$/m;

function parsePortion(text: string): Sections {
  const sections = emptySections();
  let current: SectionName = "critical";
  for (const raw of text.split(/\r?\n/)) {
    const line = raw.trimEnd();
    const heading = /^\s*(?:#{1,4}\s+|\*\*)([^*#]+?)(?:\*\*)?:?\s*$/.exec(line);
    const named = heading === null ? undefined : sectionNamed(heading[1]!);
    if (named !== undefined) current = named;
    else addLine(sections[current], line);
  }
  return sections;
}

const NAMES: Array<[RegExp, SectionName]> = [
  [
    /goal|^request$|objective|request and intent|task overview|ziel|objectif|objetivo|目标|目標|цель/iu,
    "goal",
  ],
  [/constraint|preference|requirement|rules/i, "constraints"],
  [/in progress|current (?:work|state)/i, "inProgress"],
  [/^done\b|completed|accomplish|progress|files and code/i, "done"],
  [/blocked|errors?\b|open (?:issues|problems)|known issues/i, "blocked"],
  [/decision/i, "decisions"],
  [/next|pending|todo|to-do|remaining/i, "next"],
  [/critical|needed to go on|context|notes|facts|technical|findings|discover/i, "critical"],
];

function sectionNamed(title: string): SectionName | undefined {
  return NAMES.find(([pattern]) => pattern.test(title))?.[1];
}

/** The carry-over is data of its own and is written anew by its owner. */
function withoutCarryOver(text: string): string {
  return readSummary(text.replaceAll(/<\/?summary>/g, "")).prose;
}

function addLine(items: string[], line: string): void {
  const text = line.trim();
  if (
    text === "" ||
    text === "---" ||
    /^\(?none\)?\.?$/i.test(text.replace(/^[-*]\s+/, "")) ||
    /^#+\s/.test(text)
  )
    return;
  const bullet = /^(?:[-*•]|\d{1,2}[.)])\s+/.exec(text);
  const nested = bullet !== null && /^(?:\s{2,}|\t)/.test(line) && items.length > 0;
  const bare = (bullet === null ? text : text.slice(bullet[0].length)).replace(/\*\*([^*]+)\*\*/g, "$1");
  if (nested) items[items.length - 1] = `${items.at(-1)}; ${bare}`.slice(0, 500);
  else items.push(bare.slice(0, 500));
}
