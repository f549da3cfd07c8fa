import type { UserContent } from "@bonsai-agent/messages";
import {
  blocksOf,
  contentOf,
  converterOf,
  field,
  type Part,
  type Piece,
  partsOf,
  textBlock,
  textField,
} from "./parts.ts";

/** `ModelMessage` of `ai` 7, and `LanguageModelV4Prompt`, which differs in its file data. */
export const aiSdk = converterOf({
  read: (message) => partsOf(field(message, "content")).map(readPart),
  withResult(message, part, text) {
    const content = [...(field(message, "content") as Part[])];
    const type = textField(content[part]!.output, "type").startsWith("error") ? "error-text" : "text";
    content[part] = { ...content[part]!, output: { type, value: text } };
    return { ...message, content };
  },
  withText: (message, text) => ({ ...message, content: [textBlock(text)] }),
  summary: (text) => [{ role: "user", content: [textBlock(text)] }],
});

function readPart(part: Part): Piece {
  const id = textField(part, "toolCallId");
  const approvalId = `approval ${part.approvalId}`;
  switch (part.type) {
    case "reasoning":
      return { kind: "thinking", text: textField(part, "text") };
    case "tool-call": {
      const isServer = part.providerExecuted === true;
      return { kind: "call", id, name: textField(part, "toolName"), input: part.input, isServer };
    }
    case "tool-result": {
      const isError = /^(?:error|execution-denied)/.test(textField(part.output, "type"));
      return { kind: "result", id, blocks: outputBlocks(part.output), isError };
    }
    case "tool-approval-request":
      return { kind: "request", id: approvalId, callId: id };
    case "tool-approval-response": {
      const isApproved = part.approved === true;
      return { kind: "decision", id: approvalId, isApproved, reason: textField(part, "reason") };
    }
    default:
      return { kind: "content", blocks: contentOf(part) };
  }
}

function outputBlocks(output: unknown): UserContent[] {
  const value = field(output, "value");
  if (field(output, "type") === "execution-denied")
    return [textBlock(`Execution denied. ${textField(output, "reason")}`.trim())];
  return field(output, "type") === "json" ? [textBlock(JSON.stringify(value))] : blocksOf(value ?? output);
}
