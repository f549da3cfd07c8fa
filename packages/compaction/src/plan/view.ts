import type { Message, MessageRole, TokenEstimator, UserContent } from "@bonsai-agent/messages";
import { type Projection, type ProjectionItem, project } from "@bonsai-agent/session";
import { clippedContent, editedMessage, isDeliberateEdit, isMaskedContent } from "@bonsai-agent/session/host";

/** A planned change of one message's content. */
export interface PlannedEdit {
  entryId: string;
  kind: "mask" | "media" | "truncate";
  content: string | UserContent[];
}

/** One message as the model would see it after the planned edits, with its size. */
export interface ViewItem extends ProjectionItem {
  /** Estimated tokens of `message`. */
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

/** The view of a projection, without edits. */
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

/** The items without the summary of an earlier compaction. */
export function withoutSummary(items: readonly ViewItem[]): readonly ViewItem[] {
  return items.filter(({ entry }) => entry.type !== "compaction");
}

/** The view's estimated tokens. */
export function viewTokens(items: readonly ViewItem[]): number {
  return items.reduce((sum, item) => sum + item.tokens, 0);
}

/**
 * The message as the summariser reads it: a masked result with its full content. A deliberate edit, such as a redaction,
 * stays, even if a mask came later.
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

/** Rules for messages of a role. */
interface RoleTraits {
  /** Begins a turn, like a user's message. */
  startsTurn?: true;
  /** The kept part may begin here. */
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
  // The rest of a split turn may follow it.
  compactionSummary: {},
  // No projection has one.
  system: {},
};

export function roleTraits({ role }: Message): RoleTraits {
  return ROLES[role];
}

/** The id of a compaction entry that is not written yet. */
export const PLANNED_ENTRY_ID = "planned";
