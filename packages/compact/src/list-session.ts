import type { CompactionResult } from "@bonsai-agent/compaction";
import { BonsaiError, emptyUsage, messageText, textHead } from "@bonsai-agent/messages";
import { textTail } from "@bonsai-agent/messages/host";
import {
  createSession,
  type EntryDraftWithId,
  type Session,
  type StoredMessage,
} from "@bonsai-agent/session";
import { converterFor, type MessageFormat } from "./formats.ts";
import { MessageList, summaryMessages } from "./message-list.ts";
import { type CompactState, type Edit, fingerprintOf, placeAfter, START, sealState } from "./state.ts";

/** The provider's count for the latest answer in a list. */
export interface AnswerUsage {
  /** All tokens of the request, cached ones included. */
  inputTokens: number;
  outputTokens: number;
}

interface ListSessionOptions {
  list: MessageList;
  format: MessageFormat;
  /** The state of the latest call. */
  state: CompactState | undefined;
  /** The caller's session. Default: one in memory, made of the list and the state. */
  session: Session | undefined;
  usage?: AnswerUsage | undefined;
}

/** A message list as a session of the engine. */
export class ListSession {
  readonly session: Session;
  readonly list: MessageList;
  readonly #options: ListSessionOptions;
  /** The entry of each message of the list. */
  readonly #ids: readonly string[];

  /** @throws BonsaiError `compact_session_foreign` */
  constructor(options: ListSessionOptions) {
    this.#options = options;
    this.list = options.list;
    this.session = options.session ?? createSession({ cwd: process.cwd() });
    this.#ids = options.session === undefined ? this.#fillMemory() : this.#appendNew();
  }

  /** The index of an entry in the list; the list's length for null, which keeps nothing. */
  indexOf(entryId: string | null | undefined): number {
    const at = this.#ids.indexOf(entryId ?? "");
    return at < 0 ? this.#ids.length : at;
  }

  /** The messages as the model sees them now, and their state. */
  current(result?: CompactionResult): { messages: readonly object[]; state: CompactState | null } {
    const { state, format, session } = this.#options;
    const kept = keptItems(this.session);
    const { compaction } = this.session.projection();
    const firstKept = this.indexOf(kept[0]?.entryId);
    const texts = new Map<number, string>();
    for (const { entryId, edit, message } of kept)
      if (edit !== undefined) texts.set(this.indexOf(entryId), messageText(message));
    const messages = this.list.show({ summary: compaction?.summary, firstKept, texts });
    const isChanged = result?.status === "compacted" || result?.status === "masked";
    if (!isChanged && session === undefined) return { messages, state: state ?? null };
    if (compaction === undefined && texts.size === 0) return { messages, state: null };
    const { summary, tokensBefore, details } = compaction ?? {};
    const before = this.list.entries.slice(0, firstKept).map(({ message }) => message);
    const sealed = sealState({
      format,
      ...(compaction && { compaction: { summary: summary!, tokensBefore: tokensBefore!, details } }),
      kept: placeAfter(this.list.start, before),
      keptMessages: isChanged ? kept.length : (state?.keptMessages ?? 0),
      edits: Array.from(texts, ([at, text]) => this.#edit(this.list.entries[at]!.message, text)),
    });
    return { messages, state: sealed };
  }

  #edit(message: StoredMessage, text: string): Edit {
    const of = fingerprintOf(message);
    const known = this.#options.state?.edits.find((edit) => edit.of === of);
    const isEdited = known?.text === messageText(message);
    return { of, text, original: isEdited ? known!.original : clipped(messageText(message)) };
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
    const id = this.session.newId();
    const { compaction, edits = [] } = state ?? {};
    const firstKeptEntryId = seen > 0 ? ids[0]! : id;
    const changes: EntryDraftWithId[] = edits.flatMap(({ of, text }) => {
      const at = messages.findLastIndex((message) => fingerprintOf(message) === of);
      return at < 0 ? [] : [{ type: "context_edit", targetId: ids[at]!, replacement: { content: text } }];
    });
    if (compaction !== undefined)
      changes.unshift({ type: "compaction", id, firstKeptEntryId, ...compaction });
    this.session.append([...drafts.slice(0, seen), ...changes, ...drafts.slice(seen)]);
    return ids;
  }

  /** The messages of the list, with their original texts and the usage. */
  #messages(): StoredMessage[] {
    const { list, state, usage } = this.#options;
    const edits = new Map(state?.edits.map((edit) => [edit.of, edit]));
    const messages = list.entries.map(({ message }, at): StoredMessage => {
      const edit = edits.size === 0 ? undefined : edits.get(fingerprintOf(message));
      const timed = { ...message, timestamp: list.start.messages + at + 1 };
      if (edit === undefined || messageText(message) !== edit.text) return timed;
      return { ...timed, content: [{ type: "text", text: edit.original }] } as StoredMessage;
    });
    const answer = messages.findLastIndex(({ role }) => role === "assistant");
    if (usage === undefined || answer < 0) return messages;
    const { inputTokens: input, outputTokens: output } = usage;
    const counted = { ...emptyUsage(), input, output, totalTokens: input + output };
    messages[answer] = { ...messages[answer], usage: counted } as StoredMessage;
    return messages;
  }

  /** Appends the messages that the caller's session does not have yet. */
  #appendNew(): string[] {
    const { list, format } = this.#options;
    const known = keptItems(this.session);
    const isKnown = known.every(
      ({ message }, at) => fingerprintOf(message) === fingerprintOf(list.entries[at]?.message ?? NO_MESSAGE),
    );
    const summary = this.session.projection().compaction?.summary;
    if (!isKnown || summary !== this.#options.state?.compaction?.summary) throw foreignSession(this.session);
    const drafts = this.#messages()
      .slice(known.length)
      .map((message, at): EntryDraftWithId => {
        const originals = { format, messages: list.originalsOf(known.length + at) };
        return { type: "message", message: { ...message, timestamp: Date.now(), ...{ originals } } };
      });
    const added = this.session.append(drafts);
    return [...known, ...added.map(({ id }) => ({ entryId: id }))].map(({ entryId }) => entryId);
  }
}

const NO_MESSAGE: StoredMessage = { role: "system" };

/** The items of the context after the summary. */
function keptItems(session: Session) {
  return session.projection().items.filter(({ entry }) => entry.type !== "compaction");
}

/** Maximum characters of a stored original: a summariser reads no more of a result. */
const ORIGINAL_CHARS = 2_000;

function clipped(text: string): string {
  if (text.length <= ORIGINAL_CHARS) return text;
  return `${textHead(text, ORIGINAL_CHARS / 2)}\n[…]\n${textTail(text, ORIGINAL_CHARS / 2)}`;
}

function foreignSession({ id }: Session): BonsaiError {
  return new BonsaiError({
    /** A session given to this package contains other messages than the list and its state. */
    code: "compact_session_foreign",
    message: `The session ${id} contains other messages than the list and its state.`,
    hint: "Start with an empty session, or read list and state from it with `restoreMessages`.",
  });
}

interface RestoreMessagesOptions {
  /** A session that was given to `compactMessages`. */
  session: Session;
  format: MessageFormat;
}

/**
 * Reads a message list and its state from a session that `compactMessages` filled: after a restart or an undo. The
 * messages are copies, made from JSON.
 * @throws BonsaiError `compact_session_foreign`, `compact_format_unknown`
 */
export function restoreMessages<Message extends object>({
  session,
  format,
}: RestoreMessagesOptions): { messages: Message[]; state: CompactState | null } {
  const converter = converterFor(format);
  const { compaction } = session.projection();
  const [first] = keptItems(session);
  const path = session.path().filter(({ type }) => type === "message");
  const from = first === undefined ? path.length : path.findIndex(({ id }) => id === first.entryId);
  const [before, kept] = [path.slice(0, from), path.slice(from)].map((entries) =>
    entries.flatMap((entry) => {
      const { originals } = (entry as { message: { originals?: { format: string; messages: object[] } } })
        .message;
      if (originals?.format !== format) throw foreignSession(session);
      return originals.messages;
    }),
  ) as [object[], object[]];
  const converted = converter.convert(before);
  const fixed = before.filter((_, at) => converted[at] === undefined);
  const shown = summaryMessages(converter, compaction?.summary, kept[0]);
  const { summary = "", tokensBefore = 0, details } = compaction ?? {};
  const given = { summary, tokensBefore, details };
  const state =
    compaction && sealState({ format, compaction: given, kept: START, keptMessages: 0, edits: [] });
  const list = new MessageList([...fixed, ...shown, ...kept], converter, state);
  const view = new ListSession({ list, format, state, session }).current();
  return { messages: view.messages as Message[], state: view.state };
}
