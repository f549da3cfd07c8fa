import { FileOperationCounter } from "@bonsai-agent/compaction/host";
import { type AssistantMessage, callsIn, type Message } from "@bonsai-agent/messages";
import { requestTexts, specificTerms, visibleText } from "./needed-terms.ts";

/** A read of a file that was read before. */
export interface RepeatedRead {
  /** Index of the earlier result. */
  earlier: number;
  /** Index of this read's result. */
  result: number;
}

/** The terms and files that each message of a recording uses again. Computed once for all replays of the recording. */
export class RecordedUses {
  /** For each message, the terms of earlier messages that it uses. */
  readonly terms: ReadonlyArray<readonly string[]>;
  /** For each message, its reads of files that were read before. */
  readonly repeatedReads: ReadonlyArray<readonly RepeatedRead[]>;
  readonly #texts: readonly string[];
  /** For each term, the indexes of its messages. */
  readonly #places = new Map<string, number[]>();
  /** For each term, its first message. */
  readonly #first = new Map<string, number>();
  /** For each term, the last message that uses it. */
  readonly #last = new Map<string, number>();

  constructor(messages: readonly Message[]) {
    this.#texts = messages.map(visibleText);
    this.terms = messages.map((message, at) => this.#usedBy(message, at));
    this.repeatedReads = repeatedReadsOf(messages);
  }

  /** The terms of messages before an index that messages from there on use. */
  neededFrom(at: number): string[] {
    return [...this.#last]
      .filter(([term, last]) => last >= at && this.#first.get(term)! < at)
      .map(([term]) => term);
  }

  /** Indexes of the messages that contain a term. */
  places(term: string): readonly number[] {
    const known = this.#places.get(term);
    if (known !== undefined) return known;
    const found = this.#texts.flatMap((text, at) => (text.includes(term) ? [at] : []));
    this.#places.set(term, found);
    return found;
  }

  #usedBy(message: Message, at: number): string[] {
    const used = specificTerms(requestTexts(message).join("\n"));
    for (const term of used) this.#last.set(term, at);
    const again = [...used].filter((term) => this.#first.has(term));
    for (const term of specificTerms(this.#texts[at]!)) if (!this.#first.has(term)) this.#first.set(term, at);
    return again;
  }
}

function repeatedReadsOf(messages: readonly Message[]): RepeatedRead[][] {
  const results = new Map(
    messages.flatMap((message, at) =>
      message.role === "toolResult" ? [[message.toolCallId, at] as const] : [],
    ),
  );
  const latest = new Map<string, number>();
  return messages.map((message) => {
    if (message.role !== "assistant") return [];
    return readsOf(message).flatMap(({ file, id }) => {
      const [earlier, result] = [latest.get(file), results.get(id)];
      if (result === undefined) return [];
      latest.set(file, result);
      return earlier === undefined ? [] : [{ earlier, result }];
    });
  });
}

function readsOf(answer: AssistantMessage): Array<{ file: string; id: string }> {
  return callsIn(answer).flatMap((call) => {
    const counter = new FileOperationCounter();
    counter.add({ ...answer, content: [call] });
    return counter.operations().read.map((file) => ({ file, id: call.id }));
  });
}
