import {
  type ContextTokens,
  type Message,
  type TokenEstimator,
  textHead,
  type UserContent,
} from "@bonsai-agent/messages";
import { isNote, textTail } from "@bonsai-agent/messages/host";
import type { Projection, ProjectionItem } from "@bonsai-agent/session";
import { contentOf, editedMessage, unmaskedMessage } from "@bonsai-agent/session/host";

/** A planned change of one message's content. */
export interface PlannedEdit {
  entryId: string;
  kind: "mask" | "media" | "truncate";
  content: string | UserContent[];
}

/** One message as the model would see it after the planned edits, with its size. */
export interface ViewItem extends ProjectionItem {
  readonly tokens: number;
  /** The item as projected today. */
  readonly source: ProjectionItem;
}

/** The projection with sizes and planned edits. Compaction works on it without touching the session. */
export interface ContextView {
  readonly items: readonly ViewItem[];
  readonly edits: readonly PlannedEdit[];
  readonly estimator: TokenEstimator;
}

export function viewOf(projection: Projection, estimator: TokenEstimator): ContextView {
  const items = projection.items.map((source) => ({
    ...source,
    tokens: estimator.message(source.message),
    source,
  }));
  return { items, edits: [], estimator };
}

/** The view after more edits. A later edit of a message replaces an earlier one. */
export function withEdits(view: ContextView, edits: readonly PlannedEdit[]): ContextView {
  if (edits.length === 0) return view;
  const byId = new Map(edits.map((edit) => [edit.entryId, edit]));
  const items = view.items.map((item) => {
    const edit = byId.get(item.entryId);
    if (edit === undefined) return item;
    const message = editedMessage(item.message, edit.content);
    return { ...item, message, tokens: view.estimator.message(message) };
  });
  return { ...view, items, edits: [...view.edits.filter((edit) => !byId.has(edit.entryId)), ...edits] };
}

export function editedIds({ edits }: ContextView, kind: PlannedEdit["kind"]): string[] {
  return edits.filter((edit) => edit.kind === kind).map((edit) => edit.entryId);
}

export function withoutSummary(items: readonly ViewItem[]): readonly ViewItem[] {
  return items.filter(({ entry }) => entry.type !== "compaction");
}

/** True if the items begin with those of a view, with the same edits. */
export function beginsWith(items: readonly ProjectionItem[], { items: before }: ContextView): boolean {
  return before.every(
    ({ entryId, edit }, at) => items[at]?.entryId === entryId && items[at].edit?.id === edit?.id,
  );
}

export function viewTokens(items: readonly ViewItem[]): number {
  return items.reduce((sum, item) => sum + item.tokens, 0);
}

/** The message as the summariser reads it: a masked result with its full content. */
export function originalMessage({ source }: Pick<ViewItem, "source">): Message {
  return unmaskedMessage(source);
}

/** Clips each text of a message that is longer than its share of `maxChars`; no edit if all texts are short enough. */
export function truncated({ entryId, message }: ViewItem, maxChars: number): PlannedEdit[] {
  const blocks = contentOf(message);
  const texts = blocks.filter((block) => block.type === "text");
  const shareChars = Math.max(200, Math.floor(maxChars / Math.max(1, texts.length)));
  if (!texts.some(({ text }) => text.length > shareChars)) return [];
  const content = blocks.map((block) =>
    block.type === "text" ? { ...block, text: clip(block.text, shareChars) } : block,
  );
  return [{ entryId, kind: "truncate", content }];
}

/** Rules for messages of a role. */
interface RoleTraits {
  startsTurn?: true;
  mayStartKept?: true;
  /** A context edit may shorten it. */
  mayBeCut?: true;
}

/** A role without a row does not compile. */
const ROLES: Readonly<Record<Message["role"], RoleTraits>> = {
  user: { startsTurn: true, mayStartKept: true, mayBeCut: true },
  assistant: { mayStartKept: true },
  toolResult: { mayBeCut: true },
  bashExecution: { startsTurn: true, mayStartKept: true, mayBeCut: true },
  custom: { startsTurn: true, mayStartKept: true, mayBeCut: true },
  branchSummary: { startsTurn: true, mayStartKept: true },
  // The rest of a split turn may follow it.
  compactionSummary: {},
  // No projection has one.
  system: {},
};

export function roleTraits(message: Message): RoleTraits {
  return message.role === "custom" && isNote(message) ? { mayStartKept: true } : ROLES[message.role];
}

/** The id of a compaction entry that is not written yet. */
export const PLANNED_ENTRY_ID = "planned";

/**
 * The size of a context and its parts. Every size before and after a compaction comes from this definition.
 *
 * The part of the reading above the estimates of the messages is fixed: system prompt, tools, and errors of the
 * estimate. No compaction changes it. If the reading is below the estimates, nothing is fixed, and the messages share
 * the reading.
 */
export interface ContextSize {
  /** The reported size plus estimates of later messages; else an estimate. */
  readonly totalTokens: number;
  /** The estimated part of `totalTokens`. */
  readonly estimatedTokens: number;
  readonly fixedTokens: number;
  /** Converts estimated tokens of messages into tokens of the total. */
  ofEstimate(tokens: number): number;
  /** The same for several in a row; rounding loses no token. */
  shares(estimated: readonly number[]): number[];
  /** The maximum estimated tokens of messages for this total. */
  estimateWithin(totalTokens: number): number;
}

/**
 * @param of.estimatedTokens of the messages
 * @param of.total after a refusal: the reading was too low by one factor. Default: as read
 */
export function contextSizeOf(of: {
  reading: ContextTokens;
  estimatedTokens: number;
  total?: { tokens: number; estimatedTokens: number };
}): ContextSize {
  const { reading, estimatedTokens, total } = of;
  const totalTokens = total?.tokens ?? reading.tokens;
  const share = Math.min(1, estimatedTokens / Math.max(1, reading.tokens));
  const messageTokens = Math.round(totalTokens * share);
  const fixedTokens = totalTokens - messageTokens;
  const scale = estimatedTokens === 0 ? 1 : messageTokens / estimatedTokens;
  const ofEstimate = (tokens: number) => Math.round(tokens * scale);
  return {
    totalTokens,
    estimatedTokens: total?.estimatedTokens ?? reading.trailingTokens,
    fixedTokens,
    ofEstimate,
    shares(estimated) {
      let before = 0;
      return estimated.map((tokens) => {
        const from = ofEstimate(before);
        before += tokens;
        return ofEstimate(before) - from;
      });
    },
    estimateWithin: (tokens) => (scale === 0 ? 0 : Math.floor((tokens - fixedTokens) / scale)),
  };
}

/**
 * The parts of the tokens before and after a compaction.
 *
 * Invariant: before = fixed + summarised + turn prefix + masked + shortened + kept, and after = fixed + summary + kept.
 */
export interface CompactionSizes {
  /** System prompt, tools, and errors of the estimate. */
  fixedTokens: number;
  /** Includes the summary of an earlier compaction, which the new one updates. */
  summarisedTokens: number;
  turnPrefixTokens: number;
  /** Tokens that masks remove from kept messages. */
  maskedTokens: number;
  /** Tokens of removed images and shortened texts. */
  shortenedTokens: number;
  /** Remaining tokens of the kept messages. */
  keptTokens: number;
  /** Tokens of the new summary, estimated until it is written; 0 without one. */
  summaryTokens: number;
}

/** Each part is a difference of running sums, so that rounding loses no token. */
export function compactionSizes(
  size: ContextSize,
  before: readonly ViewItem[],
  after: ContextView,
  turnPrefixEntryIds: readonly string[],
): CompactionSizes {
  const keptIds = new Set(after.items.map(({ entryId }) => entryId));
  const prefixIds = new Set(turnPrefixEntryIds);
  const maskedIds = new Set(editedIds(after, "mask"));
  const kept = after.items.filter(({ entryId }) => entryId !== PLANNED_ENTRY_ID);
  const whole = before.filter(({ entryId }) => keptIds.has(entryId));
  const isPrefix = ({ entryId }: ViewItem) => prefixIds.has(entryId) && !keptIds.has(entryId);
  const ofMasked = (items: readonly ViewItem[]) =>
    viewTokens(items.filter(({ entryId }) => maskedIds.has(entryId)));
  // Running sums: the kept part, then with removed text, with masked text, and with the turn prefix.
  const keptTo = viewTokens(kept);
  const unmaskedTo = viewTokens(whole);
  const uncutTo = unmaskedTo - (ofMasked(whole) - ofMasked(kept));
  const prefixTo = unmaskedTo + viewTokens(before.filter(isPrefix));
  const between = (from: number, to: number) => size.ofEstimate(to) - size.ofEstimate(from);
  return {
    fixedTokens: size.fixedTokens,
    summarisedTokens: between(prefixTo, viewTokens(before)),
    turnPrefixTokens: between(unmaskedTo, prefixTo),
    maskedTokens: between(uncutTo, unmaskedTo),
    shortenedTokens: between(keptTo, uncutTo),
    keptTokens: size.ofEstimate(keptTo),
    summaryTokens: between(keptTo, viewTokens(after.items)),
  };
}

/** The size of a context after a change of its messages. */
export function totalAfter(size: ContextSize, estimatedTokens: number): number {
  return size.fixedTokens + size.ofEstimate(estimatedTokens);
}

/** Removes the middle of a text longer than `maxChars`. Head and tail stay, because errors are at the end. */
export function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const marker = (missing: number) => `\n[… ${missing} more characters …]\n`;
  const keptChars = Math.max(0, maxChars - marker(text.length).length - 1);
  const head = textHead(text, Math.ceil(keptChars / 2));
  const tail = textTail(text, Math.floor(keptChars / 2));
  return `${head}${marker(text.length - head.length - tail.length)}${tail}`;
}
