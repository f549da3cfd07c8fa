import { escapeMarks, placedLines } from "@bonsai-agent/messages/host";
import {
  type BranchSummaryEntry,
  type CompactionEntry,
  pinChange,
  type Session,
} from "@bonsai-agent/session";
import { emptyRecord, storedDetails } from "../details.ts";
import { isDigest } from "../record/digest.ts";
import { outcomeLine } from "../record/outcomes.ts";
import { contentWords, termsIn } from "../record/sentence.ts";
import { LATEST_REQUEST_NOTE } from "./carry-over.ts";
import { fileIn, recentEntryOf } from "./files.ts";

/** A summary in a session. */
export type SummaryEntry = CompactionEntry | BranchSummaryEntry;

/** A line of a stored summary with its source entries. */
export interface SummaryLine {
  /** The stored text. */
  text: string;
  /**
   * Source entries: the entries that the line cites, then the best matches. Empty for the frame, and if none is known.
   */
  entryIds: readonly string[];
  /** True if the entries were found by the words and terms of the line; false if the summary stores them. */
  isMatched: boolean;
}

/**
 * Returns the lines of a stored summary, each with its source entries. Carried data stores its entries. Other lines
 * lead to the recorded message with most of their words, and to the entries that the index has for their terms. Reads
 * no summarised entry.
 *
 * Invariant: joined, the lines are the summary. Each entry is before it on its path, or on a branch that a summary
 * there summarises. For a branch summary, the path to the end of that branch counts.
 */
export function summarySources(session: Session, entry: SummaryEntry): SummaryLine[] {
  const summary = typeof entry.summary === "string" ? entry.summary : "";
  const lines = new SourcedLines(entry, new SummarisedSpan(session, entry));
  return placedLines(summary, Object.keys(storedDetails(entry).carryOver)).map((line) => lines.next(line));
}

/** Maximum entries found by the words and terms of one line. */
const MAX_MATCHED = 3;
const MAX_CITED = 8;
/** A message with this share of a line's words, and this many of them, is its source. */
const MIN_SHARED = 0.6;
const MIN_SHARED_WORDS = 3;

/** The stored entry of a line, empty for the frame; undefined to search by the words and terms of the line. */
type Source = string | undefined;

/** Finds the sources of a summary's lines, in the order of the lines. */
class SourcedLines {
  readonly #span: SummarisedSpan;
  readonly #isDigest: boolean;
  readonly #requestId: string | undefined;
  /** Source entries by line. */
  readonly #outcomes: ReadonlyMap<string, string | undefined>;
  readonly #entryOfTerm: ReadonlyMap<string, string | undefined>;
  readonly #statements: readonly RecordedStatement[];
  readonly #entryOfFile: ReadonlyMap<string, string>;
  /** One for each line of the block of pins. */
  readonly #pins: (string | undefined)[];
  /** The source of the current message, which may continue in the next line. */
  #current: Source = "";

  constructor(entry: SummaryEntry, span: SummarisedSpan) {
    const details = storedDetails(entry);
    const { record = emptyRecord, latestRequest, pinned, prose = "" } = details;
    this.#entryOfFile = recentEntryOf(details);
    this.#span = span;
    this.#isDigest = isDigest(prose);
    this.#requestId = latestRequest?.entryId;
    const outcomes = Object.values(record.outcomes).flat();
    this.#outcomes = new Map(outcomes.map((outcome) => [escapeMarks(outcomeLine(outcome)), outcome.entryId]));
    this.#entryOfTerm = new Map(record.terms.uses.map(({ term, entryId }) => [term, entryId]));
    const { words, closings } = record;
    this.#statements = [...words.said.map((one) => ({ ...one, isSaid: true })), ...closings].flatMap(
      ({ text, entryId, ...place }) =>
        entryId === undefined ? [] : [{ ...place, entryId, words: contentWords(text) }],
    );
    const pins = span.pins(pinned);
    this.#pins = pinned.flatMap((text) => text.split("\n").map(() => pins.get(text)));
  }

  next({ text, place }: ReturnType<typeof placedLines>[number]): SummaryLine {
    const source = this.#sourceIn(place, text);
    this.#current = source;
    if (source !== undefined) return { text, entryIds: this.#span.known([source]), isMatched: false };
    const found = [...this.#quoted(text), ...this.#naming(termsIn(text))];
    const entryIds = [...new Set([...this.#cited(text), ...found.slice(0, MAX_MATCHED)])];
    return { text, entryIds, isMatched: entryIds.length > 0 };
  }

  /** Entries that a text names in brackets, as a digest does. */
  #cited(text: string): string[] {
    const named = [...text.matchAll(/\[([^[\]\s]{4,64})\]/g)].map(([, id]) => id!);
    return this.#span.known(named).slice(0, MAX_CITED);
  }

  /** Entries that the index has for the terms, those with the most terms first. */
  #naming(terms: Iterable<string>): string[] {
    const counts = new Map<string, number>();
    for (const term of terms) {
      const id = this.#entryOfTerm.get(term);
      if (id !== undefined) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    const ranked = [...counts].sort(([, a], [, b]) => b - a).map(([id]) => id);
    return this.#span.known(ranked);
  }

  /** The message of the record that has most of the line's words. */
  #quoted(line: string): string[] {
    const words = [...contentWords(line)];
    const least = Math.max(MIN_SHARED_WORDS, words.length * MIN_SHARED);
    return this.#span.known([bestOf(this.#statements, words, least) ?? ""]);
  }

  #sourceIn(place: string, text: string): Source {
    switch (place) {
      case "mark":
        return "";
      case "pinned":
        return this.#pins.shift() ?? "";
      case "user-words":
        return this.#saidSource(text);
      case "terms":
        return undefined;
      case "put-back":
        return this.#outcomes.get(text) ?? /^\[([^[\]\s]+)\] /.exec(text)?.[1] ?? "";
      case "latest-request":
        return text === LATEST_REQUEST_NOTE ? "" : this.#requestId;
      case "read-files":
      case "modified-files":
        // Older summaries do not store the entry.
        return this.#entryOfFile.get(fileIn(text)) || undefined;
      default:
        if (isBlankOrHeading(text)) return "";
        if (place !== "prose" || !this.#isDigest) return undefined;
        return this.#outcomes.get(text) ?? (this.#saidSource(text) || undefined);
    }
  }

  /** The source of a line of a message, or of its continuation; empty for the introduction. */
  #saidSource(line: string): Source {
    if (line.startsWith("  ") || line === "") return this.#current;
    const [said, number, entryId, by] =
      /^(\d+)\. (?:\[([^[\]\s]+)\])?((?:agent|program|extension \S+):)?/.exec(line) ?? [];
    if (said === undefined || entryId !== undefined) return entryId ?? "";
    const own = this.#statements.filter(
      ({ turn, isSaid = false, isOnBranch }) =>
        turn === Number(number) && isSaid === (by === undefined) && !isOnBranch,
    );
    return bestOf(own, [...contentWords(line)], 0);
  }
}

/** A message or a statement of the record. */
interface RecordedStatement {
  turn: number;
  isSaid?: boolean;
  isOnBranch?: boolean | undefined;
  entryId: string;
  words: ReadonlySet<string>;
}

/** The entry of the statement with the most of these words, if it has at least `least`. */
function bestOf(
  statements: readonly RecordedStatement[],
  words: readonly string[],
  least: number,
): string | undefined {
  let best: { shared: number; entryId?: string } = { shared: least - 1 };
  for (const { entryId, words: own } of statements) {
    const shared = words.filter((word) => own.has(word)).length;
    if (shared > best.shared) best = { shared, entryId };
  }
  return best.entryId;
}

function isBlankOrHeading(line: string): boolean {
  return line.trim() === "" || /^\s{0,3}#{1,6}\s/.test(line);
}

/** The entries that the lines of a summary may name. */
class SummarisedSpan {
  readonly #session: Session;
  readonly #index: ReturnType<Session["index"]>;
  /** By number: 1 for an entry that a line may name. */
  readonly #nameable: Uint8Array;

  constructor(session: Session, entry: SummaryEntry) {
    this.#session = session;
    this.#index = session.index();
    this.#nameable = new Uint8Array(this.#index.count);
    this.#allow(entry, new Set());
  }

  /** Filters the entries that a line may name, without duplicates. */
  known(entryIds: readonly string[]): string[] {
    return [...new Set(entryIds)].filter((id) => this.#nameable[this.#index.find(id)] === 1);
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

  /** Allows the path to the summary, and the branches that are summarised on it. */
  #allow(entry: SummaryEntry, seen: Set<string>): void {
    seen.add(entry.id);
    const end = entry.type === "compaction" ? entry.parentId : entry.fromId;
    const number = end === null ? -1 : this.#index.find(end);
    for (const at of number < 0 ? [] : this.#index.ancestry(number)) {
      this.#nameable[at] = 1;
      const branch = this.#index.type(at) === "branch_summary" ? this.#session.entryAt(at) : undefined;
      if (branch?.type === "branch_summary" && !seen.has(branch.id)) this.#allow(branch, seen);
    }
  }
}
