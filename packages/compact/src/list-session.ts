import type { CompactionResult } from "@bonsai-agent/compaction";
import { BonsaiError, emptyUsage, messageText, textHead } from "@bonsai-agent/messages";
import { textTail } from "@bonsai-agent/messages/host";
import {
  createSession,
  type EntryDraftWithId,
  type ProjectionItem,
  type Session,
  type StoredMessage,
} from "@bonsai-agent/session";
import type { MessageFormat } from "./formats.ts";
import type { MessageList } from "./message-list.ts";
import { type CompactState, fingerprintOf, sealState } from "./state.ts";

interface ListSessionOptions {
  list: MessageList;
  format: MessageFormat;
  /** The state of the latest call. */
  state: CompactState | undefined;
  /** The caller's session. Default: one in memory, made of the list and the state. */
  session: Session | undefined;
  /** The provider's count for the latest answer. */
  usage: { inputTokens: number; outputTokens: number } | undefined;
}

/** A message list as a session of the engine. */
export class ListSession {
  readonly session: Session;
  readonly #options: ListSessionOptions;
  /** The entry of each message of the list. */
  readonly #ids: readonly string[];

  /** @throws BonsaiError `compact_session_foreign` */
  constructor(options: ListSessionOptions) {
    this.#options = options;
    this.session = options.session ?? createSession({ cwd: process.cwd() });
    this.#ids = options.session === undefined ? this.#fillMemory() : this.#appendNew();
  }

  /** The messages as the model sees them now, and their state. */
  current(result?: CompactionResult): { messages: readonly object[]; state: CompactState | null } {
    const { list, state, format, session } = this.#options;
    const { compaction } = this.session.projection();
    const kept = keptItems(this.session);
    const edited = kept.filter(({ edit }) => edit !== undefined);
    const indexOf = ({ entryId }: ProjectionItem) => this.#ids.indexOf(entryId);
    const firstKept = kept[0] === undefined ? this.#ids.length : indexOf(kept[0]);
    const texts = new Map(edited.map((item) => [indexOf(item), messageText(item.message)]));
    const messages = list.show({ summary: compaction?.summary, firstKept, texts });
    const isChanged = result?.status === "compacted" || result?.status === "masked";
    if (!isChanged && session === undefined) return { messages, state: state ?? null };
    if (compaction === undefined && edited.length === 0) return { messages, state: null };
    const { summary = "", tokensBefore = 0, details } = compaction ?? {};
    const sealed = sealState({
      format,
      ...(compaction && { compaction: { summary, tokensBefore, details } }),
      kept: list.placeOf(firstKept),
      keptMessages: isChanged ? kept.length : (state?.keptMessages ?? 0),
      edits: edited.map((item) => {
        const of = fingerprintOf(list.entries[indexOf(item)]!.message);
        const original = item.entry.type === "message" ? clipped(messageText(item.entry.message)) : "";
        return { of, text: messageText(item.message), original };
      }),
    });
    return { messages, state: sealed };
  }

  #fillMemory(): string[] {
    const { list, state } = this.#options;
    const messages = this.#messages();
    // Entries are named by their place, so that equal lists give equal summaries.
    const ids = messages.map((_, at) => String(list.start.messages + at + 1).padStart(8, "0"));
    const drafts = messages.map(
      (message, at): EntryDraftWithId => ({ type: "message", id: ids[at]!, message }),
    );
    const seen = Math.min(state?.keptMessages ?? 0, drafts.length);
    const { compaction, edits = [] } = state ?? {};
    const changes = edits.flatMap(({ of, text }): EntryDraftWithId[] => {
      const at = messages.findLastIndex((message) => fingerprintOf(message) === of);
      return at < 0 ? [] : [{ type: "context_edit", targetId: ids[at]!, replacement: { content: text } }];
    });
    if (compaction !== undefined) {
      const id = this.session.newId();
      changes.unshift({ type: "compaction", id, firstKeptEntryId: seen > 0 ? ids[0]! : id, ...compaction });
    }
    this.session.append([...drafts.slice(0, seen), ...changes, ...drafts.slice(seen)]);
    return ids;
  }

  /** The messages of the list, with their original texts and the usage. */
  #messages(): StoredMessage[] {
    const { list, state, usage } = this.#options;
    const edits = new Map(state?.edits.map((edit) => [edit.of, edit]));
    const messages = list.entries.map(({ message }, at): StoredMessage => {
      const edit = edits.get(fingerprintOf(message));
      const timed = { ...message, timestamp: list.start.messages + at + 1 };
      if (edit === undefined || messageText(message) !== edit.text) return timed;
      return { ...timed, content: [{ type: "text", text: edit.original }] } as StoredMessage;
    });
    const answer = messages.findLastIndex(({ role }) => role === "assistant");
    if (usage === undefined || answer < 0) return messages;
    const { inputTokens: input, outputTokens: output } = usage;
    const counted = { ...emptyUsage(), input, output, totalTokens: input + output };
    return messages.with(answer, { ...messages[answer], usage: counted } as StoredMessage);
  }

  /** Appends the messages that the caller's session does not have yet. */
  #appendNew(): string[] {
    const { list, state } = this.#options;
    const known = keptItems(this.session);
    const given = list.entries.map(({ message }) => fingerprintOf(message));
    const isKnown = known.every(({ message }, at) => fingerprintOf(message) === given[at]);
    const summary = this.session.projection().compaction?.summary;
    if (!isKnown || summary !== state?.compaction?.summary) throw foreignSession(this.session);
    const drafts = this.#messages()
      .slice(known.length)
      .map(
        (message): EntryDraftWithId => ({ type: "message", message: { ...message, timestamp: Date.now() } }),
      );
    return [...known.map(({ entryId }) => entryId), ...this.session.append(drafts).map(({ id }) => id)];
  }
}

/** The items of the context after the summary. */
function keptItems(session: Session): ProjectionItem[] {
  return session.projection().items.filter(({ entry }) => entry.type !== "compaction");
}

/** Maximum characters of each end of a stored original: a summariser reads no more of a result. */
const MAX_END_CHARS = 1_000;

function clipped(text: string): string {
  const mark = "\n[…]\n";
  if (text.length <= 2 * MAX_END_CHARS + mark.length) return text;
  return `${textHead(text, MAX_END_CHARS)}${mark}${textTail(text, MAX_END_CHARS)}`;
}

function foreignSession({ id }: Session): BonsaiError {
  return new BonsaiError({
    /** A session given to this package contains other messages than the list and its state. */
    code: "compact_session_foreign",
    message: `The session ${id} contains other messages than the list and its state.`,
    hint: "Start with an empty session. After an undo, pass the full list of messages and the state null.",
  });
}
