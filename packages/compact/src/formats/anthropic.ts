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

/** `MessageParam` of `@anthropic-ai/sdk`. */
export const anthropic = converterOf({
  read: (message) => partsOf(field(message, "content")).map(readBlock),
  withResult(message, part, text) {
    const content = [...(field(message, "content") as Part[])];
    content[part] = { ...content[part]!, content: text };
    return { ...message, content };
  },
  withText(message, text) {
    const results = partsOf(field(message, "content")).filter(({ type }) => type === "tool_result");
    return { ...message, content: [...results, textBlock(text)] };
  },
  summary(text, next) {
    const summary = { role: "user", content: text };
    // Some servers of this format refuse two user messages in a row.
    const isUser = field(next, "role") === "user";
    return isUser ? [summary, { role: "assistant", content: "I have read the record." }] : [summary];
  },
});

function readBlock(block: Part): Piece {
  if (block.type === "thinking" || block.type === "redacted_thinking")
    return { kind: "thinking", text: textField(block, "thinking") };
  const [id, usedId] = [textField(block, "id"), textField(block, "tool_use_id")];
  if (block.type.endsWith("tool_use") && id !== "") {
    const isServer = block.type !== "tool_use";
    return { kind: "call", id, name: textField(block, "name"), input: block.input, isServer };
  }
  if (usedId === "") return { kind: "content", blocks: contentOf(block) };
  const isResult = block.type === "tool_result";
  const blocks = isResult ? blocksOf(block.content ?? "") : contentOf(block);
  return { kind: "result", id: usedId, blocks, isError: block.is_error === true };
}
