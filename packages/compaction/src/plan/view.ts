import type {
  ContextTokens,
  Message,
  MessageRole,
  TokenEstimator,
  UserContent,
} from "@bonsai-agent/messages";
import { type Projection, type ProjectionItem, project } from "@bonsai-agent/session";
import { clippedContent, editedMessage, isDeliberateEdit, isMaskedContent } from "@bonsai-agent/session/host";

/** A change of one message's content that is planned, not yet written. */
export interface PlannedEdit {
  entryId: string;
  kind: "mask" | "media" | "truncate";
  content: string | UserContent[];
}

/** One message of the context under planning, as the model would see it after the planned edits, with its size. */
export interface ViewItem extends ProjectionItem {
  /** Estimated tokens of `message`. */
  readonly tokens: number;
  /** The item as projected today. */
  readonly source: ProjectionItem;
}

/** The projection with sizes and planned edits: what compaction works on, without touching the session. */
export interface ContextView {
  readonly items: readonly ViewItem[];
  readonly edits: readonly PlannedEdit[];
  readonly estimator: TokenEstimator;
}

/** The view of a projection as it stands. */
export function viewOf(projection: Projection, estimator: TokenEstimator): ContextView {
  const items = projection.items.map((source) => ({
    ...source,
    tokens: estimator.message(source.message),
    source,
  }));
  return { items, edits: [], estimator };
}

/** The view after some more edits; a later edit of a message replaces an earlier one. */
export function withEdits(view: ContextView, edits: readonly PlannedEdit[]): ContextView {
  if (edits.length === 0) return view;
  const byId = new Map(edits.map((edit) => [edit.entryId, edit]));
  const items = view.items.map((item) => {
    const edit = byId.get(item.entryId);
    return edit === undefined ? item : editedItem(item, edit, view.estimator);
  });
  return { ...view, items, edits: [...view.edits.filter((edit) => !byId.has(edit.entryId)), ...edits] };
}

function editedItem(item: ViewItem, edit: PlannedEdit, estimator: TokenEstimator): ViewItem {
  const message = editedMessage(item.message, edit.content);
  return { ...item, message, tokens: estimator.message(message) };
}

/** The entries that the planned edits of a kind change. */
export function editedIds({ edits }: ContextView, kind: PlannedEdit["kind"]): string[] {
  return edits.filter((edit) => edit.kind === kind).map((edit) => edit.entryId);
}

/** All but the summary of an earlier compaction. */
export function besideSummary(items: readonly ViewItem[]): readonly ViewItem[] {
  return items.filter(({ entry }) => entry.type !== "compaction");
}

/** The view's estimated tokens. */
export function viewTokens(items: readonly ViewItem[]): number {
  return items.reduce((sum, item) => sum + item.tokens, 0);
}

/**
 * The message that a summary is made of: a masked result with its full content; any other edit (an omission,
 * a redaction) as it was edited, for that was meant, also where a mask came later.
 */
export function originalMessage({ source }: Pick<ViewItem, "source">): Message {
  const { edit, entry, message, formerEdits = [] } = source;
  if (edit === undefined || !isMaskedContent(edit.replacement?.content)) return message;
  const original = project([entry]).items[0]?.message ?? message;
  const meant = formerEdits.findLast(({ replacement }) => isDeliberateEdit(replacement, original));
  if (meant === undefined) return original;
  return meant.replacement ? editedMessage(original, meant.replacement.content) : message;
}

/** Clips each text of a message; no edit if all texts are short enough. */
export function truncated({ entryId, message }: ViewItem, maxChars: number): PlannedEdit[] {
  const content = clippedContent(message, maxChars);
  return content === undefined ? [] : [{ entryId, kind: "truncate", content }];
}

/** What compaction may do with a message by its role. */
interface RoleTraits {
  /** A user's message, or what stands in for one, begins a turn. */
  startsTurn?: true;
  /** The kept part may begin with it. */
  mayStartKept?: true;
  /** A context edit may shorten it. */
  mayBeCut?: true;
}

/** A role without a row does not compile. */
const ROLES: Readonly<Record<MessageRole, RoleTraits>> = {
  user: { startsTurn: true, mayStartKept: true, mayBeCut: true },
  assistant: { mayStartKept: true },
  toolResult: { mayBeCut: true },
  bashExecution: { startsTurn: true, mayStartKept: true, mayBeCut: true },
  custom: { startsTurn: true, mayStartKept: true, mayBeCut: true },
  branchSummary: { startsTurn: true, mayStartKept: true },
  // What follows it may be the rest of a turn that was split.
  compactionSummary: {},
  // No projection has one.
  system: {},
};

export function roleTraits({ role }: Message): RoleTraits {
  return ROLES[role];
}

/**
 * How large a context is, and what its tokens are of: the one definition behind every size before and after a compaction.
 *
 * What was read beyond the estimates of the messages is fixed: the system prompt, the tools, and what estimates miss. It
 * stays, whatever becomes of the messages. Where less was read than is estimated, nothing is fixed, and the messages share
 * what was read.
 */
export interface ContextSize {
  /** As reported, with estimates of what came later; else by estimate. */
  readonly totalTokens: number;
  /** The estimated part of `totalTokens`. */
  readonly estimatedTokens: number;
  readonly fixedTokens: number;
  /** Tokens of the total, for estimated tokens of messages. */
  ofEstimate(tokens: number): number;
  /** The same for each of several in a row: what it adds to those before it, so that rounding loses no token. */
  shares(estimated: readonly number[]): number[];
  /** The most estimated tokens of messages with which the total stays within this. */
  estimateWithin(totalTokens: number): number;
}

interface ContextSizeOptions {
  reading: ContextTokens;
  /** The messages by estimate. */
  estimatedTokens: number;
  /** The total as a refusal taught it: then all of the reading was too low by the same factor. Default: as read. */
  total?: { tokens: number; estimatedTokens: number };
}

export function contextSizeOf({ reading, estimatedTokens, total }: ContextSizeOptions): ContextSize {
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
 * What the tokens before and after a compaction are of.
 *
 * Invariant: before = fixed + summarised + turn prefix + masked + shortened + kept, and after = fixed + summary + kept.
 */
export interface CompactionSizes {
  /** System prompt, tools, and what estimates miss. */
  fixedTokens: number;
  /** With the summary of an earlier compaction, which the new one updates. */
  summarisedTokens: number;
  turnPrefixTokens: number;
  /** What masks take from the messages that are kept. */
  maskedTokens: number;
  /** What they lose by images left out and by texts cut to head and tail. */
  shortenedTokens: number;
  /** What stays of the messages that are kept. */
  keptTokens: number;
  /** Of the new summary: estimated until it is written; 0 without one. */
  summaryTokens: number;
}

/** Stands for the compaction entry that is not written yet. */
export const PLANNED_ENTRY_ID = "planned";

interface CompactionSizesOptions {
  size: ContextSize;
  before: readonly ViewItem[];
  /** A new summary among its items has the id of an entry that is planned. */
  after: ContextView;
  turnPrefixEntryIds: readonly string[];
}

/** Each part is what it adds to those that are counted before it, so that rounding loses no token. */
export function compactionSizes({
  size,
  before,
  after,
  turnPrefixEntryIds,
}: CompactionSizesOptions): CompactionSizes {
  const keptIds = new Set(after.items.map(({ entryId }) => entryId));
  const prefixIds = new Set(turnPrefixEntryIds);
  const maskedIds = new Set(editedIds(after, "mask"));
  const kept = after.items.filter(({ entryId }) => entryId !== PLANNED_ENTRY_ID);
  const whole = before.filter(({ entryId }) => keptIds.has(entryId));
  const isPrefix = ({ entryId }: ViewItem) => prefixIds.has(entryId) && !keptIds.has(entryId);
  const ofMasked = (items: readonly ViewItem[]) =>
    viewTokens(items.filter(({ entryId }) => maskedIds.has(entryId)));
  // Where what is kept ends in the sum of the estimates, with what was cut, with what was masked, and with the turn prefix.
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
