import {
  type AssistantContent,
  contentText,
  isRecord,
  jsonText,
  type UserContent,
} from "@bonsai-agent/messages";
import { isInjectedText } from "../import/injected.ts";
import { type Fields, fieldsAt, listAt, nameOf, numberAt, stringAt } from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import { type CallOutput, callArguments, imageOfUrl, type Step, text } from "../import/step.ts";

/** A line's type and payload; the first versions wrote items without an envelope. */
export function codexRecord(value: Fields): { type: string | undefined; payload: Fields } {
  if (value.payload !== undefined)
    return { type: stringAt(value, "type"), payload: fieldsAt(value, "payload") ?? {} };
  if (value.type === undefined && value.id !== undefined && value.timestamp !== undefined)
    return { type: "session_meta", payload: value };
  if (value.record_type !== undefined) return { type: `record_type/${value.record_type}`, payload: value };
  return { type: value.type === undefined ? undefined : "response_item", payload: value };
}

/** Items that are calls. */
const CALL_ITEMS: ReadonlySet<unknown> = new Set([
  ...["function_call", "custom_tool_call", "local_shell_call", "tool_search_call"],
  ...["web_search_call", "image_generation_call"],
]);

/** True for an item of the model. */
export function isAnswerItem(item: Fields): boolean {
  if (item.type === "message") return item.role === "assistant";
  return item.type === "reasoning" || CALL_ITEMS.has(item.type);
}

/** Items that only the provider can read. */
export const OPAQUE_ITEMS: ReadonlySet<unknown> = new Set([
  "compaction",
  "compaction_summary",
  "context_compaction",
]);

/** Items that are a result of an earlier call. */
export const OUTPUT_ITEMS: ReadonlySet<unknown> = new Set([
  ...["function_call_output", "custom_tool_call_output", "local_shell_call_output"],
  ...["tool_search_output", "mcp_tool_call_output"],
]);

/** Content of a message or of a tool's output. */
export function itemContent(content: unknown, notices: NoticeLog): UserContent[] {
  if (typeof content === "string") return content === "" ? [] : [text(content)];
  if (!Array.isArray(content)) return [];
  return content.filter(isRecord).flatMap((part): UserContent[] => {
    if (part.type !== "input_image") return typeof part.text === "string" ? [text(part.text)] : [];
    const image = imageOfUrl(stringAt(part, "image_url"));
    if (image === undefined) notices.add("image_not_stored");
    return [image ?? text("[image: not stored]")];
  });
}

/** The content that an item adds to the model's answer; undefined for other items. */
export function answerContent(
  item: Fields,
  notices: NoticeLog,
  line: number,
): AssistantContent[] | undefined {
  if (!isAnswerItem(item)) return undefined;
  if (item.type === "reasoning") return reasoning(item, notices);
  if (item.type !== "message") return [call(item, line)];
  return itemContent(item.content, notices).filter((block) => block.type === "text");
}

/** The signature is the whole item, as pi stores it, so that the provider can be given it again. */
function reasoning(item: Fields, notices: NoticeLog): AssistantContent[] {
  const parts = [...listAt(item, "summary"), ...listAt(item, "content")];
  const thinking = parts.map((part) => stringAt(part, "text") ?? "").join("\n\n");
  const isEncrypted = typeof item.encrypted_content === "string" && item.encrypted_content !== "";
  if (isEncrypted && thinking === "") notices.add("unreadable");
  if (!isEncrypted) return thinking === "" ? [] : [{ type: "thinking", thinking }];
  return [{ type: "thinking", thinking, thinkingSignature: jsonText(item) }];
}

/** The id that a call and its output share; hosted tools have none of their own. */
export function callId(item: Fields, line: number): string {
  return stringAt(item, "call_id") ?? stringAt(item, "id") ?? `line-${line}`;
}

function call(item: Fields, line: number): AssistantContent {
  const name = stringAt(item, "name") ?? nameOf(item.type).replace(/_call$/, "");
  const input = item.arguments ?? item.input ?? item.action ?? { prompt: item.revised_prompt };
  return { type: "toolCall", id: callId(item, line), name, arguments: callArguments(input) };
}

/** The result in a hosted tool's call. No output item follows such a call. */
export function hostedResult(item: Fields): UserContent | undefined {
  if (item.type === "web_search_call")
    return text("[The provider ran this search; its results are not stored]");
  if (item.type !== "image_generation_call") return undefined;
  const data = stringAt(item, "result");
  return data ? { type: "image", mimeType: "image/png", data } : text("[image: not stored]");
}

/** An output's content. Its text may say that the call failed. */
export function outputOf(item: Fields, notices: NoticeLog): CallOutput {
  const raw = item.output ?? item.tools ?? item.result;
  const output = typeof raw === "string" ? unwrapped(raw) : raw;
  const isSearch = Array.isArray(output) && item.type === "tool_search_output";
  const said = isRecord(output) ? (output.content ?? output.output ?? jsonText(output)) : output;
  const content = itemContent(isSearch ? jsonText(output) : said, notices);
  const isFailed =
    isRecord(output) && (output.success === false || numberAt(output, "metadata", "exit_code") !== 0);
  return { content, isError: isFailed || reportsFailure(content) };
}

/** Older versions wrap a command's output into JSON: `{output, metadata: {exit_code}}`. */
function unwrapped(raw: string): unknown {
  if (!raw.startsWith('{"output":')) return raw;
  try {
    return JSON.parse(raw);
  } catch (error) {
    if (error instanceof SyntaxError) return raw;
    throw error;
  }
}

function reportsFailure(content: readonly UserContent[]): boolean {
  const first = content[0];
  if (first?.type !== "text") return false;
  return /^(?:Exit code: [1-9]|.*\bProcess exited with code [1-9])/m.test(first.text.slice(0, 300));
}

/** User messages that a summary-only compaction takes along: the newest, up to this many characters. */
const CARRIED_USER_CHARS = 80_000;

/** How a summary begins when it is restated as a user message. */
const SUMMARY_OPENING = "Another language model started to solve this problem";

/**
 * The context after a compaction: the summary and the carried-over items. Undefined if it is encrypted.
 * @param path the steps before it, oldest first.
 */
export function readCompacted(
  compacted: Fields,
  path: readonly Step[],
): { summary: string; carried: Fields[] } | undefined {
  const history = listAt(compacted, "replacement_history");
  const message = stringAt(compacted, "message") ?? "";
  if (history.some((item) => OPAQUE_ITEMS.has(item.type))) return undefined;
  if (history.length === 0)
    return message === "" ? undefined : { summary: message, carried: userItems(path) };
  const summaryItem = history.findLast((item) => isSummary(item, message));
  return {
    summary: summaryItem === undefined ? message : itemText(summaryItem),
    carried: history.filter((item) => item !== summaryItem),
  };
}

/** The user's own messages since the last compaction: the newest that fit. */
function userItems(path: readonly Step[]): Fields[] {
  const items: Fields[] = [];
  let chars = 0;
  for (const { draft } of path.toReversed()) {
    if (draft.type === "compaction") break;
    if (draft.type !== "message" || draft.message.role !== "user") continue;
    const text = contentText(draft.message.content);
    if (chars + text.length > CARRIED_USER_CHARS) break;
    chars += text.length;
    items.unshift({ type: "message", role: "user", content: text });
  }
  return items;
}

/** True for the item of a replacement history that holds the summary. */
function isSummary(item: Fields, message: string): boolean {
  if (item.type !== "message") return false;
  const text = itemText(item);
  return (
    text.startsWith(SUMMARY_OPENING) || (message !== "" && text.includes(message) && !isInjectedText(text))
  );
}

function itemText(item: Fields): string {
  return contentText(
    Array.isArray(item.content)
      ? listAt(item, "content").map((part) => ({ ...part, type: "text" }))
      : item.content,
  );
}
