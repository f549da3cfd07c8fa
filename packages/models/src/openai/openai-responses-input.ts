import {
  type AssistantContent,
  type AssistantMessage,
  jsonText,
  type Message,
  type ToolResultMessage,
  type UserContent,
} from "@bonsai-agent/messages";
import type {
  ResponseFunctionCallOutputItemList,
  ResponseInputItem,
  ResponseInputMessageContentList,
} from "openai/resources/responses/responses";
import { isOwnAnswer } from "../own-answer.ts";
import { wireToolName } from "../wire-tool-name.ts";
import { wireCallId } from "./openai-call-id.ts";
import {
  answerBlocks,
  type ConvertOptions,
  dataUrl,
  imagesOfResults,
  jsonObject,
  resultParts,
  saidByUser,
  signedObject,
} from "./openai-content.ts";

/** A context as items of the Responses API, without the system prompt. */
export function responsesInput(messages: readonly Message[], options: ConvertOptions): ResponseInputItem[] {
  const items: ResponseInputItem[] = [];
  let waiting: UserContent[] = [];
  const flush = () => {
    if (waiting.length > 0) items.push({ role: "user", content: inputContent(waiting) });
    waiting = [];
  };
  for (const message of messages) {
    if (message.role === "toolResult") {
      items.push(callOutput(message, options));
      if (!options.server.takesImagesInResults) waiting.push(...imagesOfResults(resultParts(message).images));
      continue;
    }
    const said = saidByUser(message);
    if (message.role === "assistant" || said.length > 0) flush();
    if (message.role === "assistant") items.push(...answerItems(message, options));
    if (said.length > 0) items.push({ role: "user", content: inputContent(said) });
  }
  flush();
  return items;
}

function inputContent(said: readonly UserContent[]): ResponseInputMessageContentList {
  return said.map((block) =>
    block.type === "image"
      ? { type: "input_image", image_url: dataUrl(block), detail: "auto" }
      : { type: "input_text", text: block.text },
  );
}

function callOutput(message: ToolResultMessage, { server }: ConvertOptions): ResponseInputItem {
  const { text, images } = resultParts(message);
  const parts: ResponseFunctionCallOutputItemList = [
    { type: "input_text", text },
    ...images.map((image) => ({
      type: "input_image" as const,
      image_url: dataUrl(image),
      detail: "auto" as const,
    })),
  ];
  return {
    type: "function_call_output",
    call_id: wireCallId(message.toolCallId, server.callId),
    output: images.length > 0 && server.takesImagesInResults ? parts : text,
  };
}

function answerItems(message: AssistantMessage, options: ConvertOptions): ResponseInputItem[] {
  const isOwn = isOwnAnswer(message, options.model);
  const items = answerBlocks(message).flatMap((block) => answerItem(block, isOwn, options));
  // Thinking is refused without what it led to.
  return items.slice(0, items.findLastIndex(({ type }) => type !== "reasoning") + 1);
}

function answerItem(
  block: AssistantContent,
  isOwn: boolean,
  { server }: ConvertOptions,
): ResponseInputItem[] {
  switch (block.type) {
    case "text":
      return [{ role: "assistant", content: block.text, ...(isOwn && phaseOf(block.textSignature)) }];
    case "toolCall":
      // Without the item's own id: nothing is stored under it, and the call's id is what pairs it with its result.
      return [
        {
          type: "function_call",
          call_id: wireCallId(block.id, server.callId),
          name: wireToolName(block.name),
          arguments: jsonText(block.arguments) || "{}",
        },
      ];
    default: {
      const item = isOwn ? signedObject(block) : undefined;
      // What is not encrypted could only be looked up under its id, and nothing is stored.
      return item?.type === "reasoning" && typeof item.encrypted_content === "string"
        ? [item as unknown as ResponseInputItem]
        : [];
    }
  }
}

/** Whether a text was on the way or the final answer; models answer worse when it is lost. */
function phaseOf(textSignature: string | undefined): { phase?: "commentary" | "final_answer" } {
  const phase = jsonObject(textSignature)?.phase;
  return phase === "commentary" || phase === "final_answer" ? { phase } : {};
}
