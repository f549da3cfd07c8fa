import {
  type AssistantContent,
  isRecord,
  jsonText,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import {
  type Fields,
  fieldsAt,
  isoTime,
  type JsonLine,
  listAt,
  nameOf,
  numberAt,
  stringAt,
} from "../import/json-lines.ts";
import type { NoticeLog, SourcePlace } from "../import/notices.ts";
import { callArguments, countSkipped, SUMMARY_MISSING, text } from "../import/step.ts";

/** A message of the recording, in the form it had last, with its place in the history. */
export interface GeminiNode {
  record: Fields;
  /** Its line, or its id where the whole recording is one object. */
  place: SourcePlace;
  line: number;
  parent: GeminiNode | GeminiCompression | null;
}

/** A replacement of the whole list, by which the program records its compression. */
export interface GeminiCompression {
  summary: string;
  line: number;
  at: string | undefined;
  parent: GeminiNode | GeminiCompression | null;
  firstKept: GeminiNode | undefined;
  /** Kept in place by the program but not in its list any more. */
  omitted: GeminiNode[];
}

/** Results that the program replaced in its list without compressing. */
export interface GeminiMask {
  callId: string;
  content: string;
}

/** Replays the recording: what the list of messages was at each time, as a tree. */
export class GeminiHistory {
  readonly nodes: Array<GeminiNode | GeminiCompression> = [];
  readonly masks: GeminiMask[] = [];
  metadata: Fields = {};
  head: GeminiNode | GeminiCompression | null = null;
  readonly skipped = new Map<string, number>();
  /** The list as the program has it, by id. */
  #current = new Map<string, GeminiNode>();
  readonly #notices: NoticeLog;

  constructor(notices: NoticeLog) {
    this.#notices = notices;
  }

  read({ line, value }: JsonLine): void {
    this.#notices.place = line;
    const rewindTo = stringAt(value, "$rewindTo");
    const update = fieldsAt(value, "$set");
    if (rewindTo !== undefined) this.#rewind(rewindTo, line);
    else if (update !== undefined) this.#update(update, line);
    else if (typeof value.id === "string" && value.type !== undefined) this.#record(value, line);
    else if (typeof value.sessionId === "string") this.#readMetadata(value, line);
    else {
      this.#notices.add("unknown_record", line);
      countSkipped(this.skipped, stringAt(value, "type") ?? "untyped");
    }
  }

  #readMetadata(metadata: Fields, line: number): void {
    this.metadata = { ...this.metadata, ...metadata };
    for (const message of listAt(metadata, "messages"))
      this.#record(message, line, stringAt(message, "id") ?? line);
  }

  /** The same id again is the same message, in a later state. */
  #record(record: Fields, line: number, place: SourcePlace = line): void {
    const known = this.#current.get(nameOf(record.id));
    if (known !== undefined) {
      known.record = record;
      return;
    }
    const node: GeminiNode = { record, place, line, parent: this.head };
    this.nodes.push(node);
    this.#current.set(nameOf(record.id), node);
    this.head = node;
  }

  /** Everything from the named message on is gone; as in the program, everything when it is unknown. */
  #rewind(id: string, line: number): void {
    this.#notices.add("rewound", line);
    const all = [...this.#current];
    const index = Math.max(
      0,
      all.findIndex(([key]) => key === id),
    );
    this.head = all[index]?.[1].parent ?? null;
    this.#current = new Map(all.slice(0, index));
  }

  #update(update: Fields, line: number): void {
    const { messages, ...rest } = update;
    this.metadata = { ...this.metadata, ...rest };
    if (Array.isArray(messages)) this.#replace(listAt(update, "messages"), line, isoTime(update.lastUpdated));
  }

  #replace(messages: readonly Fields[], line: number, at: string | undefined): void {
    const kept = messages.flatMap((message) => this.#current.get(nameOf(message.id)) ?? []);
    const added = messages.filter(
      (message) => !this.#current.has(nameOf(message.id)) && !isResultsOnly(message),
    );
    for (const message of messages) this.#noteMasks(this.#current.get(nameOf(message.id)), message);
    const keptSet = new Set(kept);
    const dropped = [...this.#current.values()].filter((node) => isConversation(node) && !keptSet.has(node));
    if (dropped.length > 0) this.#compress({ kept, dropped, added, line, at });
    else for (const message of added) this.#record(message, line);
  }

  #compress(options: {
    kept: GeminiNode[];
    dropped: GeminiNode[];
    added: Fields[];
    line: number;
    at: string | undefined;
  }): void {
    const { kept, dropped, added, line } = options;
    const summaryRecord = added.find((message) => message.type === "user");
    if (summaryRecord === undefined) this.#notices.add("summary_missing", line);
    const order = [...this.#current.values()];
    const from = kept[0] === undefined ? order.length : order.indexOf(kept[0]);
    const compression: GeminiCompression = {
      summary: summaryRecord === undefined ? SUMMARY_MISSING : partsText(summaryRecord.content),
      line,
      at: options.at,
      parent: this.head,
      firstKept: kept[0],
      omitted: dropped.filter((node) => order.indexOf(node) > from),
    };
    this.nodes.push(compression);
    this.#current = new Map(kept.map((node) => [nameOf(node.record.id), node]));
    this.head = compression;
    // Right after its summary the program puts a fixed reply into the model's mouth.
    for (const message of added.filter((each) => each !== summaryRecord && each.type !== "gemini")) {
      this.#notices.add("compaction_restated", line);
      this.#record(message, line);
    }
  }

  /** A result that differs from the recorded one was masked by the program. */
  #noteMasks(node: GeminiNode | undefined, message: Fields): void {
    if (node === undefined) return;
    const before = new Map(listAt(node.record, "toolCalls").map((call) => [call.id, resultText(call)]));
    for (const call of listAt(message, "toolCalls")) {
      const content = resultText(call);
      const old = before.get(call.id);
      if (old !== undefined && content !== undefined && old !== content) {
        this.masks.push({ callId: nameOf(call.id), content });
      }
    }
  }
}

function isConversation({ record }: GeminiNode): boolean {
  return record.type === "user" || record.type === "gemini";
}

/** The program lists results as user messages too; the recording has them with their calls. */
function isResultsOnly(message: Fields): boolean {
  return functionResponses(message.content).length > 0 && partsText(message.content) === "";
}

function resultText(call: Fields): string | undefined {
  const response = functionResponses(call.result)[0];
  const first = response === undefined ? undefined : responseContent(response).content[0];
  return first?.type === "text" ? first.text : undefined;
}

/** Content of Google's API as a list of parts: it can be a string, one part or a list of either. */
function partsOf(content: unknown): Fields[] {
  if (typeof content === "string") return content === "" ? [] : [{ text: content }];
  // A list within a list is no part.
  if (Array.isArray(content)) return content.flatMap((part) => (Array.isArray(part) ? [] : partsOf(part)));
  return isRecord(content) ? [content] : [];
}

export function partsText(content: unknown): string {
  return partsOf(content)
    .map((part) => (part.thought === true ? "" : (stringAt(part, "text") ?? "")))
    .join("");
}

/** Text and images of parts; calls and results are left out. */
export function partsContent(content: unknown, notices: NoticeLog): UserContent[] {
  return partsOf(content).flatMap((part): UserContent[] => {
    if (typeof part.text === "string")
      return part.thought === true || part.text === "" ? [] : [text(part.text)];
    const inline = fieldsAt(part, "inlineData");
    const data = stringAt(inline, "data");
    const mimeType = stringAt(inline, "mimeType") ?? "";
    if (data !== undefined && mimeType.startsWith("image/")) return [{ type: "image", data, mimeType }];
    if (inline === undefined && part.fileData === undefined) return [];
    notices.add("image_not_stored");
    return [text(`[file ${mimeType || "of unknown type"}: not stored]`)];
  });
}

/** The model's side of parts: thoughts, text and calls. */
export function answerParts(content: unknown): AssistantContent[] {
  return partsOf(content).flatMap((part): AssistantContent[] => {
    const call = fieldsAt(part, "functionCall");
    if (call !== undefined) return [toolCall(call)];
    const value = stringAt(part, "text") ?? "";
    if (value === "") return [];
    return part.thought === true ? [{ type: "thinking", thinking: value }] : [text(value)];
  });
}

export function toolCall(call: Fields): AssistantContent {
  const name = stringAt(call, "name") ?? "unknown";
  return { type: "toolCall", id: stringAt(call, "id") ?? name, name, arguments: callArguments(call.args) };
}

/** The results among parts. */
export function functionResponses(content: unknown): Fields[] {
  return partsOf(content)
    .map((part) => fieldsAt(part, "functionResponse"))
    .filter((response) => response !== undefined);
}

/** The output or error of a function response; without either, the whole response. */
export function responseContent(response: Fields): { content: UserContent[]; isError: boolean } {
  const body = fieldsAt(response, "response") ?? {};
  const error = stringAt(body, "error");
  const said = stringAt(body, "output") ?? error ?? jsonText(body);
  const media = listAt(response, "parts").flatMap((part): UserContent[] => {
    const inline = fieldsAt(part, "inlineData");
    const data = stringAt(inline, "data");
    return data === undefined
      ? []
      : [{ type: "image", data, mimeType: stringAt(inline, "mimeType") ?? "image/png" }];
  });
  return { content: [text(said), ...media], isError: error !== undefined };
}

/** Tokens as Gemini CLI sums them up; `input` there includes what was cached. */
export function recordedTokens(tokens: Fields | undefined): Usage | undefined {
  if (tokens === undefined) return undefined;
  return usageOf({
    prompt: numberAt(tokens, "input") + numberAt(tokens, "tool"),
    cached: numberAt(tokens, "cached"),
    output: numberAt(tokens, "output") + numberAt(tokens, "thoughts"),
  });
}

/** Usage as Google's API reports it. */
export function usageMetadata(usage: Fields | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  return usageOf({
    prompt: numberAt(usage, "promptTokenCount") + numberAt(usage, "toolUsePromptTokenCount"),
    cached: numberAt(usage, "cachedContentTokenCount"),
    output: numberAt(usage, "candidatesTokenCount") + numberAt(usage, "thoughtsTokenCount"),
  });
}

function usageOf({ prompt, cached, output }: { prompt: number; cached: number; output: number }): Usage {
  return {
    input: Math.max(0, prompt - cached),
    output,
    cacheRead: cached,
    cacheWrite: 0,
    totalTokens: Math.max(prompt, cached) + output,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
}
