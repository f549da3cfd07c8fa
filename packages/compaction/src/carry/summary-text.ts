import { redactSecrets } from "@bonsai-agent/messages";
import { escapeMarks, FRAMES, MARKS, paragraphs, readSummary } from "@bonsai-agent/messages/host";
import type { CompactionEntry } from "@bonsai-agent/session";
import { storedDetails } from "../details.ts";
import { closingLine } from "../record/statements.ts";
import { type CarryOver, carriedBlocks } from "./carry-over.ts";

const NO_HISTORY = "No earlier history.";

/** The summary as the model will see it: the framed prose and the carried data. */
export function summaryText(prose: string, carried: CarryOver): string {
  return paragraphs([
    FRAMES.record.begin,
    prose,
    setApart(paragraphs(carriedBlocks(carried))),
    FRAMES.record.end,
  ]);
}

/** An extension's own summary, followed by the carried data. */
export function withCarriedOver(summary: string, carried: string): string {
  return carried === "" ? summary : `${summary.trimEnd()}\n\n${setApart(carried)}`;
}

/** A branch's summary as the model will see it. */
export function branchSummaryText(prose: string, files: string, { isMerge }: { isMerge: boolean }): string {
  const { begin, end } = isMerge ? FRAMES.mergeRecord : FRAMES.branchRecord;
  return paragraphs([begin, prose, setApart(files), end]);
}

function setApart(carried: string): string {
  return carried === "" ? "" : `${MARKS.carried}\n\n${carried}`;
}

const JOINT = `\n\n---\n\n${MARKS.splitTurn}\n\n`;

/** The prose of a split turn's two summaries, history first. */
export function joinedProse(history: string | undefined, turnPrefix: string | undefined): string {
  if (turnPrefix === undefined) return history ?? NO_HISTORY;
  return `${history ?? NO_HISTORY}${JOINT}${withoutEmptySections(turnPrefix) || "(none)"}`;
}

/** The text without headings that have nothing below them. */
function withoutEmptySections(text: string): string {
  const kept: string[] = [];
  /** Level of the heading that was kept last: a heading above it with a lower level is its parent. */
  let levelBelow = 0;
  for (const block of text.split(/^(?=#{1,6}\s)/m).toReversed()) {
    const level = /^#*/.exec(block)![0].length;
    if (isEmptyPortion(block) && level >= levelBelow) continue;
    kept.push(block);
    levelBelow = level;
  }
  return kept.toReversed().join("").trim();
}

/** True if each portion has only headings and words for "none". */
export function isEmptySummary(prose: string): boolean {
  return prose.split(JOINT).every((portion) => portion.trim() === NO_HISTORY || isEmptyPortion(portion));
}

function isEmptyPortion(portion: string): boolean {
  return portion
    .split("\n")
    .filter((line) => !/^\s{0,3}#{1,6}(?:\s|$)/.test(line))
    .map(withoutMarkup)
    .every((text) => text === "" || NOTHING.test(text));
}

/** Words for "none", with words that may follow. Models keep the headings, but answer in the user's language. */
const NOTHING =
  /^(?:none|nothing|nil|null|n\/?a|n\.\s?a|empty|not applicable|keine?[nrs]?|nichts|entfällt|aucune?|rien|néant|ningun[oa]|nada|nenhuma?|nessun[oa]|niente|geen|niets|brak|ingen|inget|yok|нет|ничего|немає|無|无|無し|没有|沒有|なし|特になし|없음|لا شيء|لا يوجد)(?:\s(?:yet|so far|known|found|applicable|to (?:report|note|add|say)))?$/iu;

/** A longer line is no word for "none". */
const MAX_EMPTY_LINE_CHARS = 60;

/** A line without list marks, emphasis and punctuation around it; empty for a few words in brackets, such as "(none)". */
function withoutMarkup(line: string): string {
  if (line.length > MAX_EMPTY_LINE_CHARS) return /[\p{L}\p{N}]/u.test(line) ? line : "";
  const item = line.replace(/^[\s>]*(?:[-*+•–—]|\d{1,3}[.)])?\s*(?:\[[ xX]?\])?\s*/, "");
  if (/^[\s*_`~]*[(（][^()（）\d/\\.]{1,24}[)）][\s*_`~.。]*$/.test(item)) return "";
  return item.replace(/^[^\p{L}\p{N}]+/u, "").replace(/[^\p{L}\p{N}]+$/u, "");
}

/** Heading of the agent's answers that a digest quoted beside the user's words. */
const SAID = "## The agent's answers";

/** The prose of an earlier compaction, without frame and carried data. An update starts from it. */
export function previousProse(entry: CompactionEntry | undefined): string | undefined {
  return entry && redactSecrets(storedProse(entry));
}

function storedProse(entry: CompactionEntry): string {
  const { prose = "", closings, manifest } = storedDetails(entry);
  if (prose.trim() !== "") {
    const said = closings.map(closingLine);
    const whole = paragraphs([prose, said.length === 0 ? "" : [SAID, ...said].join("\n")]);
    return manifest?.splitTurn === true ? safeProse(whole) : escapeMarks(whole);
  }
  return safeProse(readSummary(typeof entry.summary === "string" ? entry.summary : "").prose).trim();
}

/**
 * A summary without its frame and carried-over data, with all marks in its prose escaped.
 * @param tags those of extensions that may stand among the carry-over
 */
export function strippedSummary(summary: string, tags: readonly string[] = []): string {
  return escapeMarks(readSummary(summary, tags).prose, tags).trim();
}

/** Escapes all marks in a prose except the joint of its two portions. */
export function safeProse(prose: string, tags: readonly string[] = []): string {
  const at = prose.lastIndexOf(JOINT);
  if (at < 0) return escapeMarks(prose, tags);
  return escapeMarks(prose.slice(0, at), tags) + JOINT + escapeMarks(prose.slice(at + JOINT.length), tags);
}

/** The prose of our summary after an extension edited it: all text outside our frame, heading and blocks. */
export function editedProse(summary: string, tags: readonly string[] = []): string {
  const marks = new Set<string>(SUMMARY_FRAMES.flatMap(({ begin, end }) => [begin, end]));
  const ownTags: readonly string[] = [...MARKS.tags, ...tags];
  const prose: string[] = [];
  let isCarried = false;
  let open: string | undefined;
  for (const line of summary.split("\n")) {
    const [, tag = ""] = /^<([a-z][a-z-]*)>$/.exec(line) ?? [];
    if (open !== undefined) open = line === `</${open}>` ? undefined : open;
    else if (line === MARKS.carried) isCarried = true;
    else if (isCarried && ownTags.includes(tag)) open = tag;
    else if (!marks.has(line)) prose.push(line);
  }
  return prose
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

const SUMMARY_FRAMES = [FRAMES.record, FRAMES.branchRecord, FRAMES.mergeRecord] as const;
