import { isDigest, outcomeLines, type SpanRecord, storedRecord } from "@bonsai-agent/digest";
import type { Message } from "@bonsai-agent/messages";
import {
  type BranchSummaryEntry,
  type CompactionEntry,
  type Entry,
  type EntryIndex,
  entryTexts,
  pinChange,
  type Session,
} from "@bonsai-agent/session";
import { FileOperationCounter, fileIn } from "./files.ts";
import { LineMatcher } from "./line-matcher.ts";
import { inert, type PlacedLine, placedLines } from "./marks.ts";
import { ownDetails, texts } from "./outcome.ts";

/** A line of a stored summary, and what it rests on. */
export interface SummaryLine {
  /** As it is stored. */
  text: string;
  /** Entries of the session, oldest first; none for what frames the summary, and where nothing is known or found. */
  entryIds: readonly string[];
  /** True where the entries were found by what is specific in both, best effort; else they are known as data. */
  isMatched: boolean;
}

/** A summary that a session holds. */
export type SummaryEntry = CompactionEntry | BranchSummaryEntry;

/**
 * The lines of a stored summary with the entries that each rests on. What is carried as data knows its entries; prose, of
 * whoever wrote it, is matched to what was summarised, also by the compactions before: lines lead to the original entries.
 *
 * Invariant: joined, the lines are the summary; each entry stands before it on its path, or on a branch of which a summary
 * stands there, for the summary of a branch on the path to the end of that branch.
 */
export function summarySources(session: Session, entry: SummaryEntry): SummaryLine[] {
  const reading = readSummarySources(session, entry);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
  }
}

/** How far the sources of a summary are read. */
export interface SourcesProgress {
  /** From 0 to 1. */
  share: number;
  /** The lines with what is known without reading what was summarised: at once, and the same at each step. */
  known: readonly SummaryLine[];
}

/** The same for who has other things to do meanwhile: an entry at a step. */
export function* readSummarySources(
  session: Session,
  entry: SummaryEntry,
): Generator<SourcesProgress, SummaryLine[]> {
  const span = new SummarisedSpan(session, entry);
  const lines = linesOf(entry, span);
  const known = lines.map(({ text, source }) => knownLine(text, span.known(isList(source) ? source : NONE)));
  yield { share: 0, known };
  if (lines.every(({ source }) => isList(source))) return known;
  const matcher = new LineMatcher(lines.flatMap(({ text, source }) => (source === "match" ? text : [])));
  const files = new FileOperationCounter();
  for (const [at, number] of span.numbers.entries()) {
    const original = session.entryAt(number);
    if (original !== undefined) readOriginal(original, { files, matcher });
    yield { share: (at + 1) / span.numbers.length, known };
  }
  const touched = { read: files.entries("read"), modified: files.entries("modified") };
  return lines.map(({ text, source }, at) => {
    if (isList(source)) return known[at]!;
    if (source !== "match") return knownLine(text, span.known(touched[source].get(fileIn(text)) ?? NONE));
    const entryIds = unique([...span.cited(text), ...matcher.entriesOf(text)]);
    return { text, entryIds, isMatched: entryIds.length > 0 };
  });
}

function knownLine(text: string, entryIds: readonly string[]): SummaryLine {
  return { text, entryIds, isMatched: false };
}

/** The lines of a summary, each with where its entries come from. */
function linesOf(entry: SummaryEntry, span: SummarisedSpan): Array<{ text: string; source: LineSource }> {
  const summary = typeof entry.summary === "string" ? entry.summary : "";
  const { carryOver } = ownDetails(entry);
  const known = new KnownLines(entry, span);
  const placed = placedLines(summary, Object.keys((carryOver ?? {}) as object));
  return placed.map((line) => ({ text: line.text, source: known.source(line) }));
}

/** Where the entries of a line come from: they are known; or by the file that it names; or by what is specific in it. */
type LineSource = readonly string[] | "read" | "modified" | "match";

const NONE: readonly string[] = [];

function isList(source: LineSource): source is readonly string[] {
  return typeof source !== "string";
}

const SPEAKERS: Readonly<Record<string, number>> = { user: 3, bashExecution: 3, assistant: 2 };

function readOriginal(
  entry: Entry,
  { files, matcher }: { files: FileOperationCounter; matcher: LineMatcher },
): void {
  const { id } = entry;
  if (entry.type !== "message" && entry.type !== "custom_message" && entry.type !== "branch_summary") return;
  const message = entry.type === "message" ? (entry.message as Message | undefined) : undefined;
  if (message?.role === "bashExecution" && message.excludeFromContext) return;
  if (message !== undefined) files.add(message, id);
  const speaker = SPEAKERS[message?.role ?? ""] ?? 1;
  matcher.read({ id, speaker }, [...entryTexts(entry)].join("\n"));
}

/** The original entries that a summary stands for, and which entries its lines may name. */
class SummarisedSpan {
  /** Of their records, oldest first. */
  readonly numbers: readonly number[];
  readonly #session: Session;
  readonly #index: EntryIndex;
  /** By number: 1 for an entry that a line may name. */
  readonly #nameable: Uint8Array;

  constructor(session: Session, entry: SummaryEntry) {
    this.#session = session;
    this.#index = session.index();
    this.#nameable = new Uint8Array(this.#index.count);
    this.numbers =
      entry.type === "compaction"
        ? this.#beforeCut(entry)
        : this.#originals(this.#branch(entry), new Set([entry.id]));
  }

  /** Entries that are known as data, without those that this session does not have. */
  known(entryIds: readonly string[]): string[] {
    return unique(entryIds).filter((id) => this.#isNameable(id));
  }

  /** Entries that a text names in brackets, as a digest does. */
  cited(text: string): string[] {
    const named = [...text.matchAll(/\[([^[\]\s]{4,64})\]/g)].map(([, id]) => id!);
    return this.known(named).slice(0, MOST_CITED);
  }

  /** The latest entries that pin these texts. */
  pins(pinned: readonly string[]): Map<string, string> {
    const wanted = new Set(pinned);
    const pins = new Map<string, string>();
    if (pinned.length === 0) return pins;
    for (const number of this.#index.numbersOf("custom_message")) {
      const entry = this.#nameable[number] === 1 ? this.#session.entryAt(number) : undefined;
      const change = entry && pinChange(entry);
      if (change?.isPinned && wanted.has(change.text)) pins.set(change.text, entry!.id);
    }
    return pins;
  }

  #isNameable(id: string): boolean {
    const number = this.#index.find(id);
    return number >= 0 && this.#nameable[number] === 1;
  }

  /** What stands before the first kept entry; all of the path where that is not on it. */
  #beforeCut({ id, parentId, firstKeptEntryId }: CompactionEntry): number[] {
    const path = this.#pathTo(parentId);
    let kept = firstKeptEntryId === id ? -1 : this.#index.find(firstKeptEntryId);
    while (kept >= 0 && this.#nameable[kept] !== 1) kept = this.#index.earlierOfSameId(kept);
    return this.#originals(kept < 0 ? path : path.slice(0, path.indexOf(kept)), new Set());
  }

  /** The entries of the branch that a summary is of. */
  #branch({ fromId, parentId }: BranchSummaryEntry): number[] {
    const leaf = this.#index.find(fromId);
    const target = parentId === null ? -1 : this.#index.find(parentId);
    const parted = leaf < 0 || target < 0 ? -1 : this.#index.commonAncestor(leaf, target);
    const path = this.#pathTo(leaf < 0 ? null : fromId);
    return path.slice(path.indexOf(parted) + 1);
  }

  /** From a root; all of it may be named. */
  #pathTo(id: string | null): number[] {
    const number = id === null ? -1 : this.#index.find(id);
    const path = number < 0 ? [] : this.#index.ancestry(number);
    for (const at of path) this.#nameable[at] = 1;
    return path;
  }

  /** With the entries of a branch in the place of its summary, where the session has them. */
  #originals(numbers: readonly number[], seen: Set<string>): number[] {
    return numbers.flatMap((number) => {
      if (this.#index.type(number) !== "branch_summary") return number;
      const entry = this.#session.entryAt(number);
      if (entry?.type !== "branch_summary" || seen.has(entry.id)) return [];
      seen.add(entry.id);
      const branch = this.#originals(this.#branch(entry), seen);
      return branch.length === 0 ? number : branch;
    });
  }
}

const MOST_CITED = 8;

/** What is known of a summary's lines without reading what was summarised. Asked in the order of the lines. */
class KnownLines {
  readonly #isDigest: boolean;
  readonly #record: SpanRecord | undefined;
  readonly #requestId: string | undefined;
  /** By line. */
  readonly #outcomes: ReadonlyMap<string, string | undefined>;
  /** What was said, each as its number and its entry. */
  readonly #said: ReadonlySet<string>;
  /** Of each line of the block of pins. */
  readonly #pins: (string | undefined)[];
  /** Of the message that may go on in the next line. */
  #going: LineSource = NONE;

  constructor(entry: SummaryEntry, span: SummarisedSpan) {
    const { record, latestRequest, pinned, prose } = ownDetails(entry);
    this.#isDigest = typeof prose === "string" && isDigest(prose);
    this.#record = storedRecord(record);
    const { entryId } = (latestRequest ?? {}) as { entryId?: unknown };
    this.#requestId = typeof entryId === "string" ? entryId : undefined;
    const outcomes = this.#record === undefined ? [] : outcomeLines(this.#record.outcomes);
    this.#outcomes = new Map(outcomes.map((each) => [inert(each.line), each.entryId]));
    const said = [...(this.#record?.words.said ?? []), ...(this.#record?.closings ?? [])];
    this.#said = new Set(said.map(({ turn, entryId }) => `${turn} ${entryId}`));
    const pins = span.pins(texts(pinned));
    this.#pins = texts(pinned).flatMap((text) => text.split("\n").map(() => pins.get(text)));
  }

  source({ text, place }: PlacedLine): LineSource {
    const source = this.#sourceIn(place, text);
    this.#going = source;
    return source;
  }

  #sourceIn(place: string, text: string): LineSource {
    switch (place) {
      case "mark":
        return NONE;
      case "pinned":
        return listOf(this.#pins.shift());
      case "user-words":
        return this.#saidSource(text) ?? NONE;
      case "terms":
      case "put-back":
        return this.#listed(text);
      case "read-skills":
        return "match";
      case "read-files":
        return "read";
      case "modified-files":
        return "modified";
      case "latest-request":
        return this.#requestId === undefined ? "match" : [this.#requestId];
      case "prose":
        return this.#proseSource(text);
      default:
        return isBlankOrHeading(text) ? NONE : "match";
    }
  }

  /** A line of the block of words: a message, or one that goes on; undefined for its introduction. */
  #saidSource(line: string): LineSource | undefined {
    if (line.startsWith("  ") || line === "") return this.#going;
    const [item, turn, entryId] = /^(\d+)\. (?:agent )?(?:\[([^[\]\s]+)\])?/.exec(line) ?? [];
    if (item === undefined) return undefined;
    const isSaid = this.#record === undefined || this.#said.has(`${turn} ${entryId}`);
    return entryId !== undefined && isSaid ? [entryId] : "match";
  }

  /** A line of the index of terms, or of what was put back. */
  #listed(line: string): LineSource {
    const outcome = this.#outcomes.get(line);
    if (outcome !== undefined) return [outcome];
    const [, entryId] = /^\[([^[\]\s]+)\] /.exec(line) ?? [];
    return listOf(entryId);
  }

  /** What a digest quotes of the record is known. */
  #proseSource(line: string): LineSource {
    if (isBlankOrHeading(line)) return NONE;
    if (!this.#isDigest) return "match";
    const outcome = this.#outcomes.get(line);
    if (outcome !== undefined) return [outcome];
    const said = this.#saidSource(line);
    return said === undefined || said.length === 0 ? "match" : said;
  }
}

function listOf(entryId: string | undefined): readonly string[] {
  return entryId === undefined ? NONE : [entryId];
}

/** A heading stands over what others say. */
function isBlankOrHeading(line: string): boolean {
  return line.trim() === "" || /^\s{0,3}#{1,6}\s/.test(line);
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
