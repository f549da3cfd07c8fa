import { MASK_PLACEHOLDER } from "@bonsai-agent/compaction";
import {
  type AssistantContent,
  type AssistantMessage,
  emptyUsage,
  type ImageContent,
  isRecord,
  type StopReason,
  type TextContent,
  type ToolResultMessage,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import type { EntryDraft } from "@bonsai-agent/session";
import type { NoticeLog, SourcePlace } from "./notices.ts";

/** Replaces a summary that is not in the transcript. */
export const SUMMARY_MISSING = "[The summary of this compaction is missing from the transcript]";

/**
 * The form between the transcripts of other agents and a session: an entry that has a key instead of
 * an id. A draft's references (`firstKeptEntryId`, `targetId`, `fromId`) name steps by key.
 */
export interface Step {
  /** Stable: derived from the transcript's name of the record, so that ids are the same at each import. */
  key: string;
  parent: string | null;
  /** ISO 8601; undefined if the transcript has no time. */
  at: string | undefined;
  draft: EntryDraft;
  /** Its place in the transcript. */
  source?: SourcePlace | undefined;
}

/** A transcript as its reader returns it. */
export interface Transcript {
  /** The other program's id of the session. */
  id: string;
  cwd: string | undefined;
  name: string | undefined;
  /** Version of the program that wrote it. */
  version?: string | undefined;
  steps: Step[];
  /** Key of the current position. */
  leaf: string | null;
  notices: NoticeLog;
  /** Number of skipped records by type. */
  skipped: Map<string, number>;
  subAgents: Transcript[];
}

/** Collects steps. Each new one is a child of the head, unless another parent is given. */
export class StepList {
  readonly steps: Step[] = [];
  head: string | null = null;
  /** The reader's current place, which becomes the source of added steps. */
  source: SourcePlace | undefined;
  readonly #byKey = new Map<string, Step>();
  readonly #repeats = new Map<string, number>();

  add(step: { key: string; at: string | undefined; draft: EntryDraft; parent?: string | null }): Step {
    const added: Step = {
      key: this.#free(step.key),
      parent: step.parent === undefined ? this.head : step.parent,
      at: step.at,
      draft: step.draft,
      ...(this.source === undefined ? {} : { source: this.source }),
    };
    this.steps.push(added);
    this.#byKey.set(added.key, added);
    this.head = added.key;
    return added;
  }

  step(key: string): Step | undefined {
    return this.#byKey.get(key);
  }

  /** The steps from a root to `key`, oldest first. */
  path(key: string | null = this.head): Step[] {
    const path: Step[] = [];
    for (let step = key === null ? undefined : this.#byKey.get(key); step !== undefined; ) {
      path.push(step);
      step = step.parent === null ? undefined : this.#byKey.get(step.parent);
    }
    return path.reverse();
  }

  /**
   * Marks the turn that ends at `parent` as aborted: its unfinished answer, or an empty answer after it. Returns the key of
   * the step to continue from.
   */
  markAborted(options: {
    key: string;
    at: string | undefined;
    parent: string | null;
    provider: string;
    model: string;
  }): string | null {
    const last = this.#lastMessage(options.parent);
    if (last === undefined || last.draft.type !== "message") return options.parent;
    const { message } = last.draft;
    if (message.role === "assistant") {
      if (message.stopReason !== "error") message.stopReason = "aborted";
      return options.parent;
    }
    const { key, at, parent, provider, model } = options;
    const draft = assistantDraft({
      content: [],
      provider,
      model,
      at,
      usage: emptyUsage(),
      stopReason: "aborted",
    });
    return this.add({ key: `${key}/aborted`, at, parent, draft }).key;
  }

  /** True where the turn that ends at the head is marked as aborted. */
  isAborted(): boolean {
    const last = this.#lastMessage(this.head)?.draft;
    return (
      last?.type === "message" && last.message.role === "assistant" && last.message.stopReason === "aborted"
    );
  }

  #lastMessage(from: string | null): Step | undefined {
    let step = from === null ? undefined : this.#byKey.get(from);
    while (step !== undefined && step.draft.type !== "message" && step.draft.type !== "compaction")
      step = step.parent === null ? undefined : this.#byKey.get(step.parent);
    return step;
  }

  /** Numbers repeated keys. The stored number keeps many repetitions linear. */
  #free(key: string): string {
    if (!this.#byKey.has(key)) return key;
    let n = this.#repeats.get(key) ?? 2;
    while (this.#byKey.has(`${key}~${n}`)) n += 1;
    this.#repeats.set(key, n + 1);
    return `${key}~${n}`;
  }
}

/** Adds one to a type's count. */
export function countSkipped(skipped: Map<string, number>, type: string): void {
  skipped.set(type, (skipped.get(type) ?? 0) + 1);
}

/** Replaces a result that is not in the transcript. */
export const MISSING_RESULT = "[No result: the transcript ends or was interrupted before this call finished]";

export function text(value: string): TextContent {
  return { type: "text", text: value };
}

/** The image of a `data:` URL; undefined for any other URL. */
export function imageOfUrl(url: string | undefined): ImageContent | undefined {
  const match = /^data:([^;,]+)[^,]*;base64,/.exec(url?.slice(0, 200) ?? "");
  if (url === undefined || match === null) return undefined;
  return { type: "image", mimeType: match[1]!, data: url.slice(match[0].length) };
}

/** Arguments as an object: a JSON string is parsed, anything else becomes the field `input`. */
export function callArguments(value: unknown): Record<string, unknown> {
  if (isRecord(value)) return { ...value };
  if (typeof value !== "string") return {};
  try {
    const parsed: unknown = JSON.parse(value);
    if (isRecord(parsed)) return { ...parsed };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return value === "" ? {} : { input: value };
}

/** The wire protocol of a provider, which decides how signatures are replayed. */
function apiOf(provider: string): string {
  if (provider.includes("anthropic")) return "anthropic-messages";
  if (provider.includes("openai") || provider === "codex") return "openai-responses";
  if (provider.includes("google") || provider.includes("gemini")) return "google-generative-ai";
  return "openai-completions";
}

export function assistantDraft(options: {
  content: AssistantContent[];
  provider: string;
  model: string;
  at: string | undefined;
  usage?: Usage | undefined;
  stopReason?: StopReason | undefined;
  errorMessage?: string | undefined;
}): EntryDraft & { type: "message"; message: AssistantMessage } {
  const calls = options.content.some((block) => block.type === "toolCall");
  const message: AssistantMessage = {
    role: "assistant",
    content: options.content,
    api: apiOf(options.provider),
    provider: options.provider,
    model: options.model,
    usage: options.usage ?? emptyUsage(),
    stopReason: options.stopReason ?? (calls ? "toolUse" : "stop"),
    timestamp: milliseconds(options.at),
  };
  if (options.errorMessage !== undefined) message.errorMessage = options.errorMessage;
  return { type: "message", message };
}

export function resultDraft(options: {
  callId: string;
  toolName: string;
  content: UserContent[];
  isError: boolean;
  at: string | undefined;
}): EntryDraft & { type: "message"; message: ToolResultMessage } {
  return {
    type: "message",
    message: {
      role: "toolResult",
      toolCallId: options.callId,
      toolName: options.toolName,
      content: options.content,
      isError: options.isError,
      timestamp: milliseconds(options.at),
    },
  };
}

/** A user message. Plain text stays a string. */
export function userDraft(content: UserContent[], at: string | undefined): EntryDraft {
  const only = content.length === 1 ? content[0] : undefined;
  return {
    type: "message",
    message: {
      role: "user",
      content: only?.type === "text" ? only.text : content,
      timestamp: milliseconds(at),
    },
  };
}

/** A message that a program inserted in the user's role. It never counts as the user's own words. */
export function injectedDraft(
  customType: string,
  content: string | UserContent[],
): Extract<EntryDraft, { type: "custom_message" }> {
  return { type: "custom_message", customType, content, display: false };
}

/** Leaves a step out of the model's view. */
export function omitDraft(key: string): EntryDraft {
  return { type: "context_edit", targetId: key, replacement: null };
}

/** Replaces a tool result in the model's view; the stored one stays. */
export function maskDraft(key: string, placeholder: string = MASK_PLACEHOLDER): EntryDraft {
  return { type: "context_edit", targetId: key, replacement: { content: [text(placeholder)] } };
}

/** An item that only its maker can read, kept whole. */
export function unreadableDraft(format: string, item: unknown): EntryDraft {
  return { type: "custom", customType: "bonsai.unreadable", data: { format, item } };
}

/** Milliseconds since the epoch; 0 where the transcript has no time. */
function milliseconds(at: string | undefined): number {
  return at === undefined ? 0 : Date.parse(at);
}
