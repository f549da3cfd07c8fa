import type { AssistantContent, Usage, UserContent } from "@bonsai-agent/messages";
import { jsonText } from "@bonsai-agent/messages";
import { callArguments, text } from "./content.ts";
import { type Fields, fieldsAt, isFields, listAt, numberAt, stringAt } from "./fields.ts";
import type { NoticeLog } from "./notices.ts";

/** Content of Google's API as a list of parts: it can be a string, one part or a list of either. */
export function partsOf(content: unknown): Fields[] {
  if (typeof content === "string") return content === "" ? [] : [{ text: content }];
  // A list within a list is no part.
  if (Array.isArray(content)) return content.flatMap((part) => (Array.isArray(part) ? [] : partsOf(part)));
  return isFields(content) ? [content] : [];
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

/** What a function response says: its output or error, else the whole of it. */
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
