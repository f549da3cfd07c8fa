import type { AssistantContent, Usage, UserContent } from "@bonsai-agent/messages";
import { type Fields, fieldsAt, listAt, numberAt, stringAt } from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import {
  type CallOutput,
  callArguments,
  imageOfUrl,
  MISSING_RESULT,
  requestUsage,
  text,
} from "../import/step.ts";

/** A request of an assistant message: its parts from one `step-start` to the next. */
interface OpenCodeRequest {
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
  return requests.filter(({ parts, finish }) => answerOf(parts).length > 0 || finish !== undefined);
}

/** Text, thinking and calls of parts. */
export function answerOf(parts: readonly Fields[]): AssistantContent[] {
  return parts.flatMap((part): AssistantContent[] => {
    const said = stringAt(part, "text") ?? "";
    switch (part.type) {
      case "text":
        return said === "" ? [] : [text(said)];
      case "reasoning": {
        const thinkingSignature = stringAt(part, "metadata", "anthropic", "signature");
        return [{ type: "thinking", thinking: said, ...(thinkingSignature ? { thinkingSignature } : {}) }];
      }
      case "tool": {
        const input = callArguments(fieldsAt(part, "state")?.input);
        const name = stringAt(part, "tool") ?? "unknown";
        return [{ type: "toolCall", id: partCallId(part), name, arguments: input }];
      }
      default:
        return [];
    }
  });
}

export function partCallId(part: Fields): string {
  return stringAt(part, "callID") ?? stringAt(part, "id") ?? "unknown";
}

/** A tool part's result; one that never finished gets a placeholder. */
export function partResult(part: Fields, notices: NoticeLog): CallOutput {
  const state = fieldsAt(part, "state");
  if (state?.status === "completed") {
    const attachments = listAt(state, "attachments").map((file) => fileContent(file, notices));
    return { content: [text(stringAt(state, "output") ?? ""), ...attachments], isError: false };
  }
  if (state?.status === "error") {
    const output = stringAt(state, "metadata", "output") ?? stringAt(state, "error") ?? "";
    return { content: [text(output)], isError: true };
  }
  notices.add("result_missing");
  return { content: [text(MISSING_RESULT)], isError: true };
}

/** An attached file: an image if its data is stored, else a marker. */
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
  const counts = {
    input: numberAt(tokens, "input"),
    output: numberAt(tokens, "output") + numberAt(tokens, "reasoning"),
    cacheRead: numberAt(tokens, "cache", "read"),
    cacheWrite: numberAt(tokens, "cache", "write"),
  };
  return requestUsage(counts, numberAt(holder, "cost"));
}
