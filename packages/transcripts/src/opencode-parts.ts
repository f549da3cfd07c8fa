import type { AssistantContent, Usage, UserContent } from "@bonsai-agent/messages";
import { callArguments, imageOfUrl, MISSING_RESULT, text } from "./content.ts";
import { type Fields, fieldsAt, listAt, numberAt, stringAt } from "./fields.ts";
import type { NoticeLog } from "./notices.ts";

/** A request of an assistant message: its parts from one `step-start` to the next. */
export interface OpenCodeRequest {
  parts: Fields[];
  finish: Fields | undefined;
}

/** Several requests can stand in one message; each is a message of its own to the model. */
export function requestsOf(parts: readonly Fields[]): OpenCodeRequest[] {
  const requests: OpenCodeRequest[] = [];
  for (const part of parts) {
    if (part.type === "step-start" || requests.length === 0) requests.push({ parts: [], finish: undefined });
    const current = requests.at(-1)!;
    if (part.type === "step-finish") current.finish = part;
    else if (part.type !== "step-start") current.parts.push(part);
  }
  return requests.filter(
    (request) => request.parts.some((part) => isShown(part)) || request.finish !== undefined,
  );
}

function isShown(part: Fields): boolean {
  return part.type === "text" || part.type === "reasoning" || part.type === "tool";
}

export function answerOf(parts: readonly Fields[]): AssistantContent[] {
  return parts.flatMap((part): AssistantContent[] => {
    switch (part.type) {
      case "text":
        return stringAt(part, "text") ? [text(stringAt(part, "text")!)] : [];
      case "reasoning":
        return [thinkingOf(part)];
      case "tool":
        return [
          {
            type: "toolCall",
            id: partCallId(part),
            name: stringAt(part, "tool") ?? "unknown",
            arguments: callArguments(fieldsAt(part, "state")?.input),
          },
        ];
      default:
        return [];
    }
  });
}

export function partCallId(part: Fields): string {
  return stringAt(part, "callID") ?? stringAt(part, "id") ?? "unknown";
}

function thinkingOf(part: Fields): AssistantContent {
  const metadata = fieldsAt(part, "metadata");
  const signature = stringAt(fieldsAt(metadata, "anthropic"), "signature");
  const block: AssistantContent = { type: "thinking", thinking: stringAt(part, "text") ?? "" };
  return signature === undefined ? block : { ...block, thinkingSignature: signature };
}

/** A tool part's result; one that never finished gets a placeholder. */
export function partResult(part: Fields, notices: NoticeLog): { content: UserContent[]; isError: boolean } {
  const state = fieldsAt(part, "state");
  if (state?.status === "completed") {
    const attachments = listAt(state, "attachments").map((file) => fileContent(file, notices));
    return { content: [text(stringAt(state, "output") ?? ""), ...attachments], isError: false };
  }
  if (state?.status === "error") {
    const interrupted = stringAt(fieldsAt(state, "metadata"), "output");
    return { content: [text(interrupted ?? stringAt(state, "error") ?? "")], isError: true };
  }
  notices.add("result_missing");
  return { content: [text(MISSING_RESULT)], isError: true };
}

/** An attached file: an image where its data is stored, else a marker. */
export function fileContent(part: Fields, notices: NoticeLog): UserContent {
  const mime = stringAt(part, "mime") ?? "unknown type";
  const image = mime.startsWith("image/") ? imageOfUrl(stringAt(part, "url")) : undefined;
  if (image !== undefined) return image;
  notices.add("image_not_stored");
  return text(`[file ${stringAt(part, "filename") ?? "without name"}, ${mime}: not stored]`);
}

/** Usage of a request or of a whole message; both have `tokens` and `cost`. */
export function tokensUsage(holder: Fields | undefined): Usage | undefined {
  const tokens = fieldsAt(holder, "tokens");
  if (tokens === undefined) return undefined;
  const cache = fieldsAt(tokens, "cache");
  const input = numberAt(tokens, "input");
  const output = numberAt(tokens, "output") + numberAt(tokens, "reasoning");
  const cacheRead = numberAt(cache, "read");
  const cacheWrite = numberAt(cache, "write");
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    totalTokens: input + output + cacheRead + cacheWrite,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: numberAt(holder, "cost") },
  };
}
