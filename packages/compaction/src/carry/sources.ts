import { inert, type PlacedLine, placedLines } from "@bonsai-agent/messages/marks";
import type { Session } from "@bonsai-agent/session";
import { isDigest, outcomeLines } from "../record/digest.ts";
import type { SpanRecord } from "../record/record.ts";
import { storedDetails } from "./details.ts";
import { fileIn } from "./files.ts";
import { SummarisedOriginals } from "./summarised-originals.ts";
import { SummarisedSpan, type SummaryEntry } from "./summarised-span.ts";

/** A line of a stored summary, and what it rests on. */
export interface SummaryLine {
  /** As it is stored. */
  text: string;
  /** Entries of the session, oldest first; none for what frames the summary, and where nothing is known or found. */
  entryIds: readonly string[];
  /** True where the entries were found by what is specific in both, best effort; else they are known as data. */
  isMatched: boolean;
}

/**
 * The lines of a stored summary with the entries that each rests on. What is carried as data knows its entries; prose, of
 * whoever wrote it, is matched to what was summarised, also by the compactions before: lines lead to the original entries.
 *
 * Invariant: joined, the lines are the summary; each entry stands before it on its path, or on a branch of which a summary
 * stands there, for the summary of a branch on the path to the end of that branch.
 */
export function summarySources(session: Session, entry: SummaryEntry): SummaryLine[] {
  return new SummarySources(session, [entry]).lines(entry);
}

/** How far the sources of a summary are read. */
export interface SourcesProgress {
  /** From 0 to 1. */
  share: number;
  /** The lines with what is known without reading what was summarised: at once, and the same at each step. */
  known: readonly SummaryLine[];
}

/** The same for who has other things to do meanwhile: an entry at a step. */
export function readSummarySources(
  session: Session,
  entry: SummaryEntry,
): Generator<SourcesProgress, SummaryLine[]> {
  return new SummarySources(session, [entry]).read(entry);
}

/** The same for many summaries of one session, as it is now: each original is read once, and not kept. */
export class SummarySources {
  readonly #session: Session;
  readonly #originals: SummarisedOriginals;

  /** @param summaries all that are asked for later */
  constructor(session: Session, summaries: Iterable<SummaryEntry>) {
    this.#session = session;
    const wanted = [...summaries].flatMap((entry) =>
      matchedLines(linesOf(entry, new SummarisedSpan(session, entry))),
    );
    this.#originals = new SummarisedOriginals(session, wanted);
  }

  /** As `summarySources` tells them. */
  lines(entry: SummaryEntry): SummaryLine[] {
    const summary = new SummaryReading(this.#session, entry);
    if (summary.restsOnData) return summary.known;
    this.#originals.readAll(summary.span.numbers);
    return summary.lines(this.#originals);
  }

  /** As `readSummarySources` tells them. */
  *read(entry: SummaryEntry): Generator<SourcesProgress, SummaryLine[]> {
    const summary = new SummaryReading(this.#session, entry);
    const { known, span } = summary;
    yield { share: 0, known };
    if (summary.restsOnData) return known;
    for (const read of this.#originals.readEach(span.numbers))
      yield { share: read / span.numbers.length, known };
    return summary.lines(this.#originals);
  }
}

/** One summary, from what is known of it to what its lines rest on. */
class SummaryReading {
  readonly span: SummarisedSpan;
  readonly known: SummaryLine[];
  readonly #lines: readonly SourcedLine[];

  constructor(session: Session, entry: SummaryEntry) {
    this.span = new SummarisedSpan(session, entry);
    this.#lines = linesOf(entry, this.span);
    this.known = this.#lines.map(({ text, source }) =>
      knownLine(text, this.span.known(isList(source) ? source : NONE)),
    );
  }

  /** True where nothing that was summarised has to be read. */
  get restsOnData(): boolean {
    return this.#lines.every(({ source }) => isList(source));
  }

  /** @param originals all of the span were read */
  lines(originals: SummarisedOriginals): SummaryLine[] {
    const { numbers } = this.span;
    const matches = originals.matchesIn(numbers, matchedLines(this.#lines));
    const hasFiles = this.#lines.some(({ source }) => source === "read" || source === "modified");
    const touched = originals.filesOf(hasFiles ? numbers : []);
    return this.#lines.map(({ text, source }, at) => {
      if (isList(source)) return this.known[at]!;
      if (source !== "match")
        return knownLine(text, this.span.known(touched[source].get(fileIn(text)) ?? NONE));
      const entryIds = unique([...this.span.cited(text), ...matches.entriesOf(text)]);
      return { text, entryIds, isMatched: entryIds.length > 0 };
    });
  }
}

function knownLine(text: string, entryIds: readonly string[]): SummaryLine {
  return { text, entryIds, isMatched: false };
}

/** The lines of a summary, each with where its entries come from. */
function linesOf(entry: SummaryEntry, span: SummarisedSpan): SourcedLine[] {
  const summary = typeof entry.summary === "string" ? entry.summary : "";
  const known = new KnownLines(entry, span);
  const placed = placedLines(summary, Object.keys(storedDetails(entry).carryOver));
  return placed.map((line) => ({ text: line.text, source: known.source(line) }));
}

function matchedLines(lines: readonly SourcedLine[]): string[] {
  return lines.flatMap(({ text, source }) => (source === "match" ? text : []));
}

/** Where the entries of a line come from: they are known; or by the file that it names; or by what is specific in it. */
type LineSource = readonly string[] | "read" | "modified" | "match";

interface SourcedLine {
  text: string;
  source: LineSource;
}

const NONE: readonly string[] = [];

function isList(source: LineSource): source is readonly string[] {
  return typeof source !== "string";
}

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
    const { record, latestRequest, pinned, prose } = storedDetails(entry);
    this.#isDigest = prose !== undefined && isDigest(prose);
    this.#record = record;
    this.#requestId = latestRequest?.entryId;
    const outcomes = this.#record === undefined ? [] : outcomeLines(this.#record.outcomes);
    this.#outcomes = new Map(outcomes.map((each) => [inert(each.line), each.entryId]));
    const said = [...(this.#record?.words.said ?? []), ...(this.#record?.closings ?? [])];
    this.#said = new Set(said.map(({ turn, entryId }) => `${turn} ${entryId}`));
    const pins = span.pins(pinned);
    this.#pins = pinned.flatMap((text) => text.split("\n").map(() => pins.get(text)));
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
