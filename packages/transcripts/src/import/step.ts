import { MASK_PLACEHOLDER } from "@bonsai-agent/compaction";
import {
  type AssistantContent,
  type AssistantMessage,
  emptyUsage,
  type ImageContent,
  isRecord,
  type StopReason,
  type TextContent,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import type { EntryDraft } from "@bonsai-agent/session";
import type { NoticeLog, SourcePlace } from "./notices.ts";

/** Replaces a summary that is not in the transcript. */
export const SUMMARY_MISSING = "[The summary of this compaction is missing from the transcript]";

/** Replaces a result that is not in the transcript. */
export const MISSING_RESULT = "[No result: the transcript ends or was interrupted before this call finished]";

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
  /** The timestamp of its message is 0: the entry gets the time of the step. */
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
  list: StepList;
  /** Key of the current position. */
  leaf: string | null;
  subAgents?: Transcript[];
}

/** The place and time of a new step. */
interface StepPlace {
  key: string;
  at: string | undefined;
  /** Default: the head. */
  parent?: string | null;
  /** Default: the reader's current place. */
  source?: SourcePlace | undefined;
}

/** Collects the steps, notices and skipped records of a transcript. */
export class StepList {
  readonly steps: Step[] = [];
  readonly notices: NoticeLog;
  /** Number of skipped records by type. */
  readonly skipped = new Map<string, number>();
  head: string | null = null;
  readonly #byKey = new Map<string, Step>();
  readonly #repeats = new Map<string, number>();

  constructor(notices: NoticeLog) {
    this.notices = notices;
  }

  /** Adds a step, which becomes the head. Returns its key. */
  add(draft: EntryDraft, { key, at, parent = this.head, source = this.notices.place }: StepPlace): string {
    const step: Step = { key: this.#free(key), parent, at, draft, source };
    this.steps.push(step);
    this.#byKey.set(step.key, step);
    this.head = step.key;
    return step.key;
  }

  /** Counts a skipped record. */
  skip(type: string): void {
    this.skipped.set(type, (this.skipped.get(type) ?? 0) + 1);
  }

  step(key: string | null): Step | undefined {
    return key === null ? undefined : this.#byKey.get(key);
  }

  /** The steps from a root to `key`, oldest first. */
  path(key: string | null = this.head): Step[] {
    const path: Step[] = [];
    for (let step = this.step(key); step !== undefined; step = this.step(step.parent)) path.push(step);
    return path.reverse();
  }

  /**
   * Marks the turn that ends at `parent` as aborted: its unfinished answer, or an empty answer after it. Returns the key of
   * the step to continue from.
   */
  markAborted(place: StepPlace, model: { provider: string; model: string }): string | null {
    const { key, at, parent = this.head, source } = place;
    const message = this.#lastMessage(parent);
    if (message === undefined) return parent;
    if (message.role !== "assistant") {
      const draft = answerDraft({ content: [], stopReason: "aborted", ...model });
      return this.add(draft, { key: `${key}/aborted`, at, parent, source });
    }
    if (message.stopReason !== "error") message.stopReason = "aborted";
    return parent;
  }

  /** True if the turn that ends at the head is marked as aborted. */
  isAborted(): boolean {
    const last = this.#lastMessage(this.head);
    return last?.role === "assistant" && last.stopReason === "aborted";
  }

  /** The last message up to a step; undefined if a compaction follows it. */
  #lastMessage(from: string | null) {
    let step = this.step(from);
    while (step !== undefined && step.draft.type !== "message" && step.draft.type !== "compaction")
      step = this.step(step.parent);
    return step?.draft.type === "message" ? step.draft.message : undefined;
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

/**
 * The usage of a request.
 * @param counts `totalTokens` defaults to the sum of the other counts
 * @param usd default: unknown
 */
export function requestUsage(counts: Partial<Omit<Usage, "cost">>, usd = 0): Usage {
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, reasoning, totalTokens } = counts;
  return {
    ...{ input, output, cacheRead, cacheWrite },
    ...(reasoning ? { reasoning } : {}),
    totalTokens: totalTokens ?? input + output + cacheRead + cacheWrite,
    cost: { ...emptyUsage().cost, total: usd },
  };
}

/** The wire protocol of a provider, which decides how signatures are replayed. */
function apiOf(provider: string): string {
  if (provider.includes("anthropic")) return "anthropic-messages";
  if (provider.includes("openai") || provider === "codex") return "openai-responses";
  if (provider.includes("google") || provider.includes("gemini")) return "google-generative-ai";
  return "openai-completions";
}

export function answerDraft({
  content,
  provider,
  model,
  usage = emptyUsage(),
  stopReason = content.some((block) => block.type === "toolCall") ? "toolUse" : "stop",
  errorMessage,
}: {
  content: AssistantContent[];
  provider: string;
  model: string;
  usage?: Usage | undefined;
  stopReason?: StopReason | undefined;
  errorMessage?: string | undefined;
}): { type: "message"; message: AssistantMessage } {
  const api = apiOf(provider);
  const message: AssistantMessage = {
    ...{ role: "assistant", content, api, provider, model, usage, stopReason, timestamp: 0 },
    ...(errorMessage === undefined ? {} : { errorMessage }),
  };
  return { type: "message", message };
}

/** The output of a call. */
export interface CallOutput {
  content: UserContent[];
  isError: boolean;
}

/** A tool result. The pairing adds the name of a known call. */
export function resultDraft(toolCallId: string, output: CallOutput, toolName = "unknown"): EntryDraft {
  return { type: "message", message: { role: "toolResult", toolCallId, toolName, ...output, timestamp: 0 } };
}

/** Content with plain text as a string. */
export function flatContent(content: UserContent[]): string | UserContent[] {
  const only = content.length === 1 ? content[0] : undefined;
  return only?.type === "text" ? only.text : content;
}

/** A message that a program inserted in the user's role. It never counts as the user's own words. */
export function injectedDraft(customType: string, content: string | UserContent[]) {
  return { type: "custom_message", customType, content, display: false } as const;
}

/** Leaves a step out of the model's view. */
export function omitDraft(key: string): EntryDraft {
  return { type: "context_edit", targetId: key, replacement: null };
}

/** Replaces a tool result in the model's view; the stored one stays. */
export function maskDraft(key: string, placeholder: string = MASK_PLACEHOLDER): EntryDraft {
  return { type: "context_edit", targetId: key, replacement: { content: [text(placeholder)] } };
}
