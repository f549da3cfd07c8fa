import { contentText } from "@bonsai-agent/messages";
import { type Fields, fieldsAt, isoTime, numberAt, stringAt, stringsAt } from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import { omitDraft, type StepList, SUMMARY_MISSING } from "../import/step.ts";
import type { UuidNode } from "../import/uuid-tree.ts";
import { messageBlocks } from "./records.ts";

/** Turns compaction markers into compactions, or into branch summaries where the beginning was kept. */
export class ClaudeCodeCompactions {
  readonly #nodes: readonly UuidNode[];
  readonly #notices: NoticeLog;
  readonly #steps: StepList;
  readonly #places: ReadonlyMap<string, string | null>;
  readonly #summaries: ReadonlyMap<string, UuidNode>;
  readonly #used = new Set<string>();
  /** By the end of a kept part: where the conversation goes on after its compaction. */
  readonly #continued = new Map<string, { place: string; line: number }>();

  constructor(options: {
    nodes: readonly UuidNode[];
    notices: NoticeLog;
    list: StepList;
    places: ReadonlyMap<string, string | null>;
  }) {
    this.#nodes = options.nodes;
    this.#notices = options.notices;
    this.#steps = options.list;
    this.#places = options.places;
    this.#summaries = summariesByBoundary(options.nodes);
  }

  /** Moves records that continue a kept part below the compaction. */
  continued(parent: string | null, line: number): string | null {
    const next = parent === null ? undefined : this.#continued.get(parent);
    return next !== undefined && line > next.line ? this.continued(next.place, line) : parent;
  }

  /** The summary record of a compaction has no step of its own. Undefined for any other record. */
  placeSummary(node: UuidNode, parent: string | null): string | null | undefined {
    if (node.record.isCompactSummary !== true) return undefined;
    if (this.#used.has(node.uuid)) return parent;
    const pending = [...this.#summaries].find(([, summary]) => summary === node);
    // Summary first, marker later in the file: the marker will place it.
    if (pending !== undefined) return parent;
    return this.#add(node, parent, { summary: summaryText(node.record), firstKept: "", tokens: 0 });
  }

  placeBoundary(node: UuidNode, parent: string | null): string {
    const summary = this.#summaries.get(node.uuid);
    if (summary === undefined) this.#notices.add("summary_missing", node.line);
    else this.#used.add(summary.uuid);
    const metadata = fieldsAt(node.record, "compactMetadata");
    const text = summary === undefined ? SUMMARY_MISSING : summaryText(summary.record);
    const path = this.#steps.path(this.#realEnd(metadata, parent)).map((step) => step.key);
    const kept = this.#keptKeys(metadata, path);
    const end = path.at(-1) ?? null;
    const prefixEnd = keptPrefixEnd(path, kept, this.#sinceCompaction(path));
    if (prefixEnd !== undefined && end !== null) return this.#addBranchSummary(node, prefixEnd, end, text);
    const place = this.#addCompaction(node, { path, kept, text, tokens: numberAt(metadata, "preTokens") });
    if (kept.size > 0 && end !== null) this.#continued.set(end, { place, line: node.line });
    return place;
  }

  /**
   * The marker of a second compaction can hang in a copy of older history, while the head of its kept
   * part is right: then what was written last below that head is the real end.
   */
  #realEnd(metadata: Fields | undefined, parent: string | null): string | null {
    const head = this.#places.get(stringAt(fieldsAt(metadata, "preservedSegment"), "headUuid") ?? "");
    if (head === undefined || head === null) return parent;
    if (this.#steps.path(parent).some((step) => step.key === head)) return parent;
    this.#notices.add("reattached");
    const below = new Set([head]);
    for (const step of this.#steps.steps) if (below.has(step.parent ?? "")) below.add(step.key);
    return [...below].at(-1)!;
  }

  #keptKeys(metadata: Fields | undefined, path: readonly string[]): Set<string> {
    const messages = fieldsAt(metadata, "preservedMessages");
    const all = stringsAt(messages, "allUuids");
    const uuids = all.length > 0 ? all : stringsAt(messages, "uuids");
    if (uuids.length > 0) return this.#keysOf(uuids, path);
    const segment = fieldsAt(metadata, "preservedSegment");
    const from = path.indexOf(this.#places.get(stringAt(segment, "headUuid") ?? "") ?? "");
    const to = path.indexOf(this.#places.get(stringAt(segment, "tailUuid") ?? "") ?? "");
    return new Set(from < 0 ? [] : path.slice(from, to < from ? undefined : to + 1));
  }

  /** All the steps of records; those after a record's first have a number behind its uuid. */
  #keysOf(uuids: readonly string[], path: readonly string[]): Set<string> {
    const names = new Set(uuids.flatMap((uuid) => [uuid, this.#places.get(uuid) ?? uuid]));
    return new Set(path.filter((key) => names.has(key) || names.has(key.split("~")[0]!)));
  }

  /** The part of a path that the model saw before this compaction, from the last one on. */
  #sinceCompaction(path: readonly string[]): number {
    return path.findLastIndex((key) => this.#steps.step(key)?.draft.type === "compaction") + 1;
  }

  #addCompaction(
    node: UuidNode,
    options: { path: readonly string[]; kept: ReadonlySet<string>; text: string; tokens: number },
  ): string {
    const { path, kept, text, tokens } = options;
    const from = path.findIndex((key) => kept.has(key));
    let place = this.#add(node, path.at(-1) ?? null, {
      summary: text,
      firstKept: from < 0 ? "" : path[from]!,
      tokens,
    });
    const between = from < 0 ? [] : path.slice(from).filter((key) => !kept.has(key) && this.#isSeen(key));
    for (const key of between) {
      place = this.#steps.add({ key: node.uuid, at: undefined, draft: omitDraft(key), parent: place }).key;
    }
    return place;
  }

  #isSeen(key: string): boolean {
    const type = this.#steps.step(key)?.draft.type;
    return type === "message" || type === "custom_message" || type === "branch_summary";
  }

  #addBranchSummary(node: UuidNode, parent: string, fromId: string, summary: string): string {
    const draft = { type: "branch_summary", summary, fromId } as const;
    return this.#steps.add({ key: node.uuid, at: isoTime(node.record.timestamp), draft, parent }).key;
  }

  #add(
    node: UuidNode,
    parent: string | null,
    fields: { summary: string; firstKept: string; tokens: number },
  ): string {
    const trigger = stringAt(fieldsAt(node.record, "compactMetadata"), "trigger");
    const draft = {
      type: "compaction",
      summary: fields.summary,
      firstKeptEntryId: fields.firstKept,
      tokensBefore: fields.tokens,
      ...(trigger === undefined ? {} : { details: { trigger } }),
    } as const;
    return this.#steps.add({ key: node.uuid, at: isoTime(node.record.timestamp), draft, parent }).key;
  }
}

/** By boundary: the summary that hangs on it, else the next one in the file that hangs on no other. */
function summariesByBoundary(nodes: readonly UuidNode[]): Map<string, UuidNode> {
  const boundaries = nodes.filter(({ record }) => record.subtype === "compact_boundary");
  const summaries = nodes.filter(({ record }) => record.isCompactSummary === true);
  const found = new Map<string, UuidNode>();
  for (const { uuid } of boundaries) {
    const child = summaries.find((summary) => summary.parent === uuid);
    if (child !== undefined) found.set(uuid, child);
  }
  const taken = new Set(found.values());
  for (const { uuid, line } of boundaries) {
    if (found.has(uuid)) continue;
    const next = summaries.find((summary) => summary.line > line && !taken.has(summary));
    if (next === undefined) continue;
    taken.add(next);
    found.set(uuid, next);
  }
  return found;
}

function summaryText(record: Fields): string {
  return contentText(messageBlocks(record));
}

/** The end of the kept part if the compaction kept the beginning of the context. */
function keptPrefixEnd(
  path: readonly string[],
  kept: ReadonlySet<string>,
  start: number,
): string | undefined {
  if (kept.size === 0 || kept.has(path.at(-1) ?? "")) return undefined;
  const after = path.findIndex((key, index) => index >= start && !kept.has(key));
  const isPrefix = after > start && !path.slice(after).some((key) => kept.has(key));
  return isPrefix ? path[after - 1] : undefined;
}
