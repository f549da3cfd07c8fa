/** A request to a model. */
interface SentRequest {
  model: { id: string };
  tools: readonly unknown[];
  systemPrompt: string;
  messages: readonly { role: string }[];
}

/** A provider's cache. It keeps each request of each model, and reads the longest common beginning by bytes. */
export class PrefixCache {
  readonly #kept = new Map<string, string[]>();
  /** By model: the declared tools of its requests, in any order. */
  readonly #toolSets = new Map<string, Set<string>>();
  readonly #compactions = new Set<unknown>();
  /** By model: the number of compactions at its latest request. */
  readonly #epochs = new Map<string, number>();
  /** Bytes before the messages that the cache had to write again. */
  rewrittenBytes = 0;
  /** Requests that do not continue the one before. */
  breaks = 0;

  /** A new process opens the session: its first request of each model is as one after a compaction. */
  restart(): void {
    this.#epochs.clear();
  }

  /**
   * @param freshAfter in the first request after a compaction, everything from this text on may be new, and all of it
   * without the text or with other tools. The same tools in another order may not. Default: nothing may be new
   */
  send({ model, tools, systemPrompt, messages }: SentRequest, freshAfter?: string): void {
    const stable = JSON.stringify([tools, systemPrompt]);
    const request = stable + messages.map((message) => JSON.stringify(message)).join("\n");
    const [first] = messages;
    if (first?.role === "compactionSummary") this.#compactions.add(JSON.stringify(first));
    const isNewEpoch = this.#epochs.get(model.id) !== this.#compactions.size;
    this.#epochs.set(model.id, this.#compactions.size);
    const toolSet = JSON.stringify(tools.map((tool) => JSON.stringify(tool)).sort());
    const toolSets = this.#toolSets.get(model.id) ?? new Set();
    const hasOtherTools = !toolSets.has(toolSet);
    this.#toolSets.set(model.id, toolSets.add(toolSet));
    const kept = this.#kept.get(model.id);
    const continues = kept !== undefined && request.startsWith(kept.at(-1)!);
    // A longer request contains the one that it continues.
    this.#kept.set(model.id, [...(continues ? kept.slice(0, -1) : (kept ?? [])), request]);
    if (kept === undefined || continues) return;
    this.breaks += 1;
    const read = Math.max(...kept.map((each) => commonLength(each, request)));
    const isFree = isNewEpoch && freshAfter !== undefined;
    const freshAt = hasOtherTools ? 0 : Math.max(0, stable.indexOf(freshAfter ?? ""));
    const length = isFree ? freshAt : stable.length;
    this.rewrittenBytes += Math.max(0, length - read);
  }
}

function commonLength(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}
