import { contentText } from "@bonsai-agent/messages";
import { type Fields, fieldsAt, numberAt, stringAt, stringsAt, timeAt } from "../import/json-lines.ts";
import { omitDraft, type StepList, SUMMARY_MISSING } from "../import/step.ts";
import type { UuidNode } from "../import/uuid-tree.ts";
import { messageBlocks } from "./records.ts";

/** The facts of a compaction record. */
interface Compacted {
  summary: string;
  firstKept: string;
  tokens: number;
}

/** Turns compaction markers into compactions, or into branch summaries if the beginning was kept. */
export class ClaudeCodeCompactions {
  readonly #list: StepList;
  readonly #places: ReadonlyMap<string, string | null>;
  readonly #summaries: ReadonlyMap<string, UuidNode>;
  readonly #placed = new Set<UuidNode>();
  /** By the end of a kept part: the compaction below which the conversation continues. */
  readonly #continued = new Map<string, { place: string; line: number }>();

  constructor(nodes: readonly UuidNode[], list: StepList, places: ReadonlyMap<string, string | null>) {
    this.#list = list;
    this.#places = places;
    this.#summaries = summariesByBoundary(nodes);
    for (const summary of this.#summaries.values()) this.#placed.add(summary);
  }

  /** Moves records that continue a kept part below the compaction. */
  continued(parent: string | null, line: number): string | null {
    const next = parent === null ? undefined : this.#continued.get(parent);
    return next !== undefined && line > next.line ? this.continued(next.place, line) : parent;
  }

  /** The summary record of a compaction has no step of its own: its marker places it. Undefined for any other record. */
  placeSummary(node: UuidNode, parent: string | null): string | null | undefined {
    if (node.record.isCompactSummary !== true) return undefined;
    if (this.#placed.has(node)) return parent;
    return this.#add(node, parent, { summary: summaryText(node.record), firstKept: "", tokens: 0 });
  }

  placeBoundary(node: UuidNode, parent: string | null): string {
    const record = this.#summaries.get(node.uuid)?.record;
    if (record === undefined) this.#list.notices.add("summary_missing", node.line);
    const summary = record === undefined ? SUMMARY_MISSING : summaryText(record);
    const metadata = fieldsAt(node.record, "compactMetadata");
    const path = this.#list.path(this.#realEnd(metadata, parent)).map((step) => step.key);
    const kept = this.#keptKeys(metadata, path);
    const end = path.at(-1) ?? null;
    const prefixEnd = keptPrefixEnd(path, kept, this.#sinceCompaction(path));
    if (prefixEnd !== undefined && end !== null) {
      const draft = { type: "branch_summary", summary, fromId: end } as const;
      return this.#list.add(draft, placeOf(node, prefixEnd));
    }
    const firstKept = path.find((key) => kept.has(key)) ?? "";
    const tokens = numberAt(metadata, "preTokens");
    let place = this.#add(node, end, { summary, firstKept, tokens });
    for (const key of firstKept === "" ? [] : path.slice(path.indexOf(firstKept)))
      if (!kept.has(key) && this.#isSeen(key))
        place = this.#list.add(omitDraft(key), { ...placeOf(node, place), at: undefined });
    if (kept.size > 0 && end !== null) this.#continued.set(end, { place, line: node.line });
    return place;
  }

  /**
   * The marker of a second compaction can follow a copy of older history, while the head of its kept part is right: then
   * the real end is the latest step below that head.
   */
  #realEnd(metadata: Fields | undefined, parent: string | null): string | null {
    const head = this.#places.get(stringAt(metadata, "preservedSegment", "headUuid") ?? "");
    if (head === undefined || head === null) return parent;
    if (this.#list.path(parent).some((step) => step.key === head)) return parent;
    this.#list.notices.add("reattached");
    const below = new Set([head]);
    for (const step of this.#list.steps) if (below.has(step.parent ?? "")) below.add(step.key);
    return [...below].at(-1)!;
  }

  #keptKeys(metadata: Fields | undefined, path: readonly string[]): Set<string> {
    const all = stringsAt(metadata, "preservedMessages", "allUuids");
    const uuids = all.length > 0 ? all : stringsAt(metadata, "preservedMessages", "uuids");
    if (uuids.length > 0) return this.#keysOf(uuids, path);
    const placeAt = (name: string) =>
      path.indexOf(this.#places.get(stringAt(metadata, "preservedSegment", name) ?? "") ?? "");
    const [from, to] = [placeAt("headUuid"), placeAt("tailUuid")];
    return new Set(from < 0 ? [] : path.slice(from, to < from ? undefined : to + 1));
  }

  /** All steps of records. The key of a record's later step is its uuid with a number. */
  #keysOf(uuids: readonly string[], path: readonly string[]): Set<string> {
    const names = new Set(uuids.flatMap((uuid) => [uuid, this.#places.get(uuid) ?? uuid]));
    return new Set(path.filter((key) => names.has(key) || names.has(key.split("~")[0]!)));
  }

  /** The start of the part of a path that the model saw before this compaction. */
  #sinceCompaction(path: readonly string[]): number {
    return path.findLastIndex((key) => this.#list.step(key)?.draft.type === "compaction") + 1;
  }

  #isSeen(key: string): boolean {
    return ["message", "custom_message", "branch_summary"].includes(this.#list.step(key)!.draft.type);
  }

  #add(node: UuidNode, parent: string | null, { summary, firstKept, tokens }: Compacted): string {
    const trigger = stringAt(node.record, "compactMetadata", "trigger");
    const draft = {
      type: "compaction",
      summary,
      firstKeptEntryId: firstKept,
      tokensBefore: tokens,
      ...(trigger === undefined ? {} : { details: { trigger } }),
    } as const;
    return this.#list.add(draft, placeOf(node, parent));
  }
}

/** The place of a record's step. */
export function placeOf({ uuid, line, record }: UuidNode, parent: string | null) {
  return { key: uuid, at: timeAt(record, "timestamp"), parent, source: line };
}

/** By boundary: its child, else the next summary in the file that belongs to no other boundary. */
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
    const next = summaries.find((summary) => summary.line > line && !taken.has(summary));
    if (found.has(uuid) || next === undefined) continue;
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
