import {
  type AssistantContent,
  isRecord,
  jsonText,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import { type Fields, fieldsAt, listAt, numberAt, stringAt } from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import { type CallOutput, callArguments, requestUsage, text } from "../import/step.ts";

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
    const data = stringAt(part, "inlineData", "data");
    const mimeType = stringAt(part, "inlineData", "mimeType") ?? "";
    if (data !== undefined && mimeType.startsWith("image/")) return [{ type: "image", data, mimeType }];
    if (fieldsAt(part, "inlineData") === undefined && part.fileData === undefined) return [];
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
export function responseContent(response: Fields): CallOutput {
  const body = fieldsAt(response, "response") ?? {};
  const error = stringAt(body, "error");
  const said = stringAt(body, "output") ?? error ?? jsonText(body);
  const media = listAt(response, "parts").flatMap((part): UserContent[] => {
    const data = stringAt(part, "inlineData", "data");
    const mimeType = stringAt(part, "inlineData", "mimeType") ?? "image/png";
    return data === undefined ? [] : [{ type: "image", data, mimeType }];
  });
  return { content: [text(said), ...media], isError: error !== undefined };
}

/** Tokens as Gemini CLI sums them up. */
export function recordedTokens(tokens: Fields | undefined): Usage | undefined {
  return usageOf(tokens, ["input", "tool"], "cached", ["output", "thoughts"]);
}

/** Usage as Google's API reports it. */
export function usageMetadata(usage: Fields | undefined): Usage | undefined {
  const output = ["candidatesTokenCount", "thoughtsTokenCount"];
  return usageOf(usage, ["promptTokenCount", "toolUsePromptTokenCount"], "cachedContentTokenCount", output);
}

/** Adds up counts by their names. The first count of the prompt includes the cached tokens. */
function usageOf(
  counts: Fields | undefined,
  promptNames: readonly string[],
  cachedName: string,
  outputNames: readonly string[],
): Usage | undefined {
  if (counts === undefined) return undefined;
  const sum = (names: readonly string[]) => names.reduce((total, name) => total + numberAt(counts, name), 0);
  const cacheRead = numberAt(counts, cachedName);
  return requestUsage({
    input: Math.max(0, sum(promptNames) - cacheRead),
    output: sum(outputNames),
    cacheRead,
  });
}
