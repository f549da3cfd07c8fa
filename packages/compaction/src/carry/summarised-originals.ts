import type { Message } from "@bonsai-agent/messages";
import { type Entry, entryTexts, type Session } from "@bonsai-agent/session";
import { FileOperationCounter, type FileOperations, type MessageFiles, messageFiles } from "./files.ts";
import { LineMatcher, type LineMatches } from "./line-matcher.ts";

/** What summaries of one session may rest on. Each original is read once; what lines have in common with it is kept. */
export class SummarisedOriginals {
  readonly #session: Session;
  readonly #matcher: LineMatcher;
  /** By number of the record. */
  readonly #read = new Set<number>();
  readonly #files = new Map<number, MessageFiles>();
  /** Most summaries stand for what the one before stood for, and more. */
  #counted: { numbers: readonly number[]; counter: FileOperationCounter } = {
    numbers: [],
    counter: new FileOperationCounter(),
  };

  /** @param lines all that are matched later */
  constructor(session: Session, lines: readonly string[]) {
    this.#session = session;
    this.#matcher = new LineMatcher(lines);
  }

  /** @param numbers of the originals' records */
  readAll(numbers: readonly number[]): void {
    for (const _ of this.readEach(numbers));
  }

  /** The same, an original at a step, in whatever order: tells how many were read. */
  *readEach(numbers: readonly number[]): Generator<number> {
    const unread = numbers.filter((number) => !this.#read.has(number)).sort((a, b) => a - b);
    let read = numbers.length - unread.length;
    for (const { entry, number } of this.#session.entriesAt(unread)) {
      this.#read.add(number);
      this.#readOriginal(number, entry);
      read += 1;
      yield read;
    }
  }

  #readOriginal(number: number, entry: Entry): void {
    if (entry.type !== "message" && entry.type !== "custom_message" && entry.type !== "branch_summary")
      return;
    const message = entry.type === "message" ? (entry.message as Message | undefined) : undefined;
    if (message?.role === "bashExecution" && message.excludeFromContext) return;
    const files = message && messageFiles(message, entry.id);
    if (files !== undefined) this.#files.set(number, files);
    const speaker = SPEAKERS[message?.role ?? ""] ?? 1;
    this.#matcher.read(number, { id: entry.id, speaker }, [...entryTexts(entry)].join("\n"));
  }

  /** @param numbers of records that were read, oldest first, each once */
  matchesIn(numbers: readonly number[], lines: readonly string[]): LineMatches {
    return this.#matcher.matchesIn(numbers, lines);
  }

  /** The entries among these that read, or modified, each file. @param numbers as of `matchesIn` */
  filesOf(numbers: readonly number[]): Record<keyof FileOperations, ReadonlyMap<string, readonly string[]>> {
    if (this.#counted.numbers.some((number, at) => numbers[at] !== number))
      this.#counted = { numbers: [], counter: new FileOperationCounter() };
    const { counter } = this.#counted;
    for (let at = this.#counted.numbers.length; at < numbers.length; at += 1) {
      const files = this.#files.get(numbers[at]!);
      if (files !== undefined) counter.addFiles(files);
    }
    this.#counted = { numbers, counter };
    return { read: counter.entries("read"), modified: counter.entries("modified") };
  }
}

/** What a person said is worth more than what a tool put out. */
const SPEAKERS: Readonly<Record<string, number>> = { user: 3, bashExecution: 3, assistant: 2 };
