import { blocksOf, converterOf, field, type Piece, textBlock, textField } from "./parts.ts";

/** `ChatCompletionMessageParam` of `openai`. */
export const openaiChat = converterOf({
  read(message) {
    const content = field(message, "content");
    const blocks = blocksOf(content ?? "");
    const role = textField(message, "role");
    if (role === "tool" || role === "function")
      return [{ kind: "result", id: textField(message, "tool_call_id") || formerId(message), blocks }];
    const refusal = textField(message, "refusal");
    if (refusal !== "") blocks.push(textBlock(refusal));
    return [{ kind: "content", blocks }, ...callsOf(message)];
  },
  withResult: (message, _part, text) => ({ ...message, content: text }),
});

function callsOf(message: object): Piece[] {
  const former = field(message, "function_call");
  const calls = [field(message, "tool_calls") ?? []].flat();
  return [...calls, ...(former ? [{ id: formerId(former), function: former }] : [])].map((call) => {
    const called = field(call, "function") ?? field(call, "custom");
    const input = field(called, "arguments") ?? field(called, "input");
    return { kind: "call", id: textField(call, "id"), name: textField(called, "name"), input };
  });
}

/** Calls of the former kind have no id. */
function formerId(call: unknown): string {
  return `function ${textField(call, "name")}`;
}
