import {
  contentBlocks,
  contentText,
  isRecord,
  type Message,
  readableSummary,
  type TextContent,
  type ToolCall,
} from "@bonsai-agent/messages";
import { quotedFiles } from "@bonsai-agent/messages/host";
import type { LinePart } from "@bonsai-agent/messages/numbers";
import type { Entry, EntryOf, EntryType } from "./entry.ts";
import { contentLine, flat, messageParts, pinText, sealedMark, summaryLine, word } from "./message-line.ts";
import { ownEntryWords, pinChange } from "./own-entries.ts";
import { storedProviderSummary } from "./provider-summary.ts";

/** The expected value of a field. `sound-entry.ts` has the rules. A field whose kind ends in `?` may be absent. */
export type FieldKind =
  | "text"
  | "text?"
  | "full text"
  | "name"
  | "id"
  | "time"
  | "number?"
  | "exit code"
  | "amount"
  | "amount?"
  | "tokens"
  | "tokens?"
  | "flag"
  | "content"
  | "record"
  | "replacement";

export type FieldKinds = Readonly<Record<string, FieldKind>>;

/** Describes a type of entry. */
interface EntryTypeRow<Stored extends Entry> {
  /** Its name in a column of a tree or a list. */
  readonly word: string;
  /** The entry as a line, see `entryParts`. */
  readonly preview: (entry: Stored, call: ToolCall | undefined) => string | LinePart[];
  /** The texts that a search looks at, see `entryTexts`. */
  readonly texts: (entry: Stored) => Iterable<string>;
  /** Fields without which the entry is read as a lost one. Default: none. */
  readonly essential?: FieldKinds;
  /** Fields with a harmless value, which is read instead of a damaged one. The usage is one of them. Default: none. */
  readonly fields?: FieldKinds;
  /** The message for the model, before edits. Default: none. */
  readonly message?: (entry: Stored) => Message | undefined;
}

const isText = (value: unknown) => typeof value === "string";
const always = () => true;

const textsIn = (...values: unknown[]) => values.filter(isText);
const summaryTexts = (summary: unknown) => textsIn(summary).map((text) => readableSummary(text));

function noteLine(entry: EntryOf<"custom_message">): string {
  const words = ownEntryWords(entry) ?? word(entry.customType);
  const text = contentLine(entry.content);
  return text.trim() === "" ? words : `${words}: ${text}`;
}

function usageWords(kind: unknown): string {
  return kind === "session_digest" ? "session description" : word(kind).replaceAll("_", " ");
}

const ENTRY_TYPES: { readonly [Type in EntryType]: EntryTypeRow<EntryOf<Type>> } = {
  message: {
    word: "message",
    preview: ({ message }, call) => (isRecord(message) ? messageParts(message, call) : "(no message)"),
    texts: ({ message }) => messageTexts(message),
    essential: { message: "record" },
    message: ({ message }) => (messageRole(message?.role)?.isShown(message) ? message : undefined),
  },
  compaction: {
    word: "compaction",
    preview: (entry) => `${sealedMark(storedProviderSummary(entry))}${summaryLine(entry.summary)}`,
    texts: ({ summary }) => summaryTexts(summary),
    essential: { summary: "full text" },
    fields: {
      firstKeptEntryId: "text",
      tokensBefore: "amount",
      fromHook: "flag",
      replacesCompactionId: "text?",
    },
    message: ({ summary, tokensBefore, timestamp }) => ({
      role: "compactionSummary",
      summary,
      tokensBefore,
      timestamp: Date.parse(timestamp),
    }),
  },
  branch_summary: {
    word: "branch",
    preview: ({ summary }) => summaryLine(summary),
    texts: ({ summary }) => summaryTexts(summary),
    essential: { summary: "text" },
    fields: { fromId: "text", fromHook: "flag", isMerge: "flag" },
    message: ({ summary, fromId, isMerge, timestamp }) =>
      summary === ""
        ? undefined
        : {
            role: "branchSummary",
            summary,
            fromId,
            ...(isMerge && { isMerge }),
            timestamp: Date.parse(timestamp),
          },
  },
  context_edit: {
    word: "edit",
    preview: ({ replacement, targetId }) => `${replacement === null ? "hides" : "masks"} ${word(targetId)}`,
    texts: ({ replacement }) => contentTexts(replacement?.content),
    essential: { targetId: "text", replacement: "replacement" },
  },
  custom_message: {
    word: "extension",
    preview: (entry) => pinText(entry) ?? noteLine(entry),
    texts: (entry) => {
      const pin = pinChange(entry);
      return pin === undefined ? contentTexts(entry.content) : [pin.text];
    },
    fields: { customType: "name", content: "content", display: "flag" },
    message: ({ customType, content, display, details, timestamp }) => ({
      role: "custom",
      customType,
      content,
      display,
      details,
      timestamp: Date.parse(timestamp),
    }),
  },
  custom: {
    word: "extension",
    preview: (entry) => ownEntryWords(entry) ?? word(entry.customType ?? ""),
    texts: () => [],
    fields: { customType: "name" },
  },
  label: {
    word: "label",
    preview: ({ label, targetId }) =>
      `${label === undefined ? "removed from" : `${word(label)} at`} ${word(targetId)}`,
    texts: ({ label }) => textsIn(label),
    essential: { targetId: "text" },
    fields: { label: "text?" },
  },
  model_change: {
    word: "model",
    preview: ({ provider, modelId }) => `${word(provider)}/${word(modelId)}`,
    texts: ({ modelId }) => textsIn(modelId),
    essential: { provider: "text", modelId: "text" },
  },
  thinking_level_change: {
    word: "thinking",
    preview: ({ thinkingLevel }) => word(thinkingLevel),
    texts: () => [],
    essential: { thinkingLevel: "text" },
  },
  session_info: {
    word: "info",
    preview: ({ name }) => word(name ?? ""),
    texts: ({ name }) => textsIn(name),
    fields: { name: "text?" },
  },
  usage: {
    word: "usage",
    preview: ({ kind, provider, model }) => `${usageWords(kind)}: ${word(provider)}/${word(model)}`,
    texts: () => [],
    fields: { kind: "name", provider: "name", model: "name" },
  },
};

/** Describes a role of messages. */
interface RoleRow<Shown extends Message> {
  /** Its name in a column of a tree or a list. */
  readonly word: string;
  /** Fields with a harmless value, as for a type of entry. Content may be missing or null everywhere. */
  readonly fields?: FieldKinds;
  /** False if no model sees the message. */
  readonly isShown: (message: Shown) => boolean;
  /** The message with another content. Left out if its content cannot be replaced. */
  readonly withContent?: (message: Shown, content: unknown) => Message;
}

const SAID = { content: "content", timestamp: "number?" } as const;
const withContent = (message: Message, content: unknown) => ({ ...message, content }) as Message;
const withBlocks = (message: Message, content: unknown) =>
  withContent(message, isText(content) ? [{ type: "text", text: content } satisfies TextContent] : content);

const ROLES: { readonly [Role in Message["role"]]: RoleRow<Extract<Message, { role: Role }>> } = {
  user: { word: "user", fields: SAID, isShown: always, withContent },
  assistant: {
    word: "assistant",
    fields: {
      ...SAID,
      api: "text?",
      provider: "text?",
      model: "text?",
      stopReason: "text?",
      rawStopReason: "text?",
      errorMessage: "text?",
      responseModel: "text?",
      responseId: "text?",
    },
    isShown: always,
    withContent: withBlocks,
  },
  toolResult: {
    word: "result",
    fields: { ...SAID, toolCallId: "text", toolName: "name", isError: "flag" },
    isShown: always,
    withContent: withBlocks,
  },
  bashExecution: {
    word: "command",
    fields: {
      timestamp: "number?",
      command: "text",
      output: "text",
      exitCode: "exit code",
      cancelled: "flag",
      truncated: "flag",
      excludeFromContext: "flag",
      fullOutputPath: "text?",
    },
    isShown: (message) => !message.excludeFromContext,
    withContent: (message, content) => ({
      ...message,
      output: isText(content) ? content : contentText(content),
    }),
  },
  branchSummary: { word: "branch", fields: { timestamp: "number?", summary: "text" }, isShown: always },
  compactionSummary: {
    word: "summary",
    fields: { timestamp: "number?", summary: "text", tokensBefore: "amount?" },
    isShown: always,
  },
  custom: {
    word: "extension",
    fields: { ...SAID, customType: "name", display: "flag" },
    isShown: always,
    withContent,
  },
  system: { word: "system", isShown: () => false },
};

// Maps, for a damaged file can name a type or a role `constructor`.
const types = new Map<unknown, EntryTypeRow<never>>(Object.entries(ENTRY_TYPES));
const roles = new Map<unknown, RoleRow<never>>(Object.entries(ROLES));

/** The row of a type; undefined for types of other programs. */
export function entryType(type: unknown): EntryTypeRow<Entry> | undefined {
  return types.get(type) as EntryTypeRow<Entry> | undefined;
}

/** The row of a role; undefined for an unknown role. */
export function messageRole(role: unknown): RoleRow<Message> | undefined {
  return roles.get(role) as RoleRow<Message> | undefined;
}

/**
 * An entry in one line, in parts that follow each other as they are. Leaves out the frames, tags and references that
 * Bonsai adds to a text for the model. The parts may contain control characters. Total: a damaged entry has a line too.
 * @param call of a tool's result. Default: the line only names the tool
 */
export function entryParts(entry: Entry, call?: ToolCall): LinePart[] {
  const preview = entryType(entry.type)?.preview(entry, call) ?? "";
  return typeof preview === "string" ? [{ text: flat(preview) }] : preview;
}

/** The texts of an entry that a search looks at, one by one: no match spans two of them. */
export function entryTexts(entry: Entry): Iterable<string> {
  const row = entryType(entry.type);
  if (row !== undefined) return row.texts(entry);
  // Another program may name the texts of its own types as Bonsai does.
  const { summary, label, name, modelId } = entry as unknown as Record<string, unknown>;
  return [...summaryTexts(summary), ...textsIn(label, name, modelId)];
}

/** A message's role or an entry's type as a short word for a column; an unknown one as it is. */
export function kindWord(kind: string): string {
  return messageRole(kind)?.word ?? entryType(kind)?.word ?? (kind === "damagedMessage" ? "damaged" : kind);
}

/** The kind of an entry in one word: `pin`, `note` for a record of Bonsai's, else what `kindWord` gives. */
export function entryKind(entry: Entry): string {
  if (pinChange(entry) !== undefined) return "pin";
  if (ownEntryWords(entry) !== undefined) return "note";
  if (entry.type !== "message") return kindWord(entry.type);
  return typeof entry.message?.role === "string" ? kindWord(entry.message.role) : "damaged";
}

/** The texts of a message that a search looks at, one by one: no match spans two of them. */
function* messageTexts(message: unknown): Generator<string> {
  if (typeof message !== "object" || message === null) return;
  const { role, content, typed, command, output, errorMessage } = message as Record<string, unknown>;
  if (typeof typed === "string") yield typed;
  for (const text of contentTexts(content)) {
    if (role === "user") yield* sentTexts(text);
    else yield text;
  }
  for (const text of [command, output, errorMessage]) if (typeof text === "string") yield text;
}

/** The typed text, and each file that was sent with it, without the tags between them. */
function* sentTexts(sent: string): Generator<string> {
  const { text, files } = quotedFiles(sent);
  yield text;
  for (const { path, content } of files) yield* [path, content];
}

/** The texts of a message's content, see `messageTexts`. */
function* contentTexts(content: unknown): Generator<string> {
  for (const block of contentBlocks(content)) {
    if (typeof block.text === "string") yield block.text;
    if (typeof block.thinking === "string") yield block.thinking;
    if (block.type === "toolCall") yield* callTexts(block);
  }
}

function* callTexts(call: Record<string, unknown>): Generator<string> {
  if (typeof call.name === "string") yield call.name;
  yield* leafTexts(call.arguments);
}

/** The strings and numbers inside arguments, as they were meant, not as JSON writes them. */
function* leafTexts(value: unknown): Generator<string> {
  // A stack of our own: arguments can be nested deeper than calls may be.
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "string" || typeof next === "number") yield String(next);
    else if (typeof next === "object" && next !== null) {
      for (const inner of Object.values(next).reverse()) open.push(inner);
    }
  }
}
