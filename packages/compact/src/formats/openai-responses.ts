import {
  blocksOf,
  type Converter,
  contentOf,
  convertAnswer,
  convertInput,
  field,
  type Piece,
  partsOf,
  textField,
} from "./parts.ts";

/** `ResponseInputItem` of `openai`. */
export const openaiResponses: Converter = {
  convert(items) {
    const names = new Map<string, string>();
    const sides = items.map(sideOf);
    return items.map((item, at) => {
      if (sides[at] === "unknown") return undefined;
      if (sides[at] === "input") return convertInput([readItem(item)], names);
      // Items of one answer belong together: the API refuses reasoning without the item after it.
      const from = sides.findLastIndex((side, index) => index < at && side !== "answer") + 1;
      const { opens, closes } = convertAnswer([readItem(item)], names);
      if (from < at) return { entries: [], opens, closes };
      const after = sides.findIndex((side, index) => index > at && side !== "answer");
      const answer = items.slice(at, after < 0 ? items.length : after).map(readItem);
      return { entries: convertAnswer(answer, names).entries, opens, closes };
    });
  },
  withResult: (item, _part, text) => ({ ...item, output: text }),
  withText: (item, text) => ({ ...item, content: text }),
  summary: (text) => [{ role: "user", content: text }],
};

const ANSWER_ITEMS: ReadonlySet<string> = new Set(["reasoning", "mcp_approval_request", "item_reference"]);

function typeOf(item: object): string {
  return textField(item, "type") || "message";
}

function sideOf(item: object): "input" | "answer" | "unknown" {
  const [type, role] = [typeOf(item), field(item, "role")];
  if (type === "message") return role === "user" ? "input" : role === "assistant" ? "answer" : "unknown";
  if (type === "mcp_approval_response") return "input";
  if (textField(item, "call_id") !== "") return type.endsWith("_output") ? "input" : "answer";
  return type.endsWith("_call") || ANSWER_ITEMS.has(type) ? "answer" : "unknown";
}

function readItem(item: object): Piece {
  const type = typeOf(item);
  const id = textField(item, "call_id");
  switch (type) {
    case "message":
      return { kind: "content", blocks: blocksOf(field(item, "content")) };
    case "reasoning": {
      const texts = partsOf(field(item, "summary")).map((part) => textField(part, "text"));
      return { kind: "thinking", text: texts.join("\n") };
    }
    case "mcp_approval_request": {
      const input = field(item, "arguments");
      return {
        kind: "call",
        id: textField(item, "id"),
        name: textField(item, "name"),
        input,
        isServer: true,
      };
    }
    case "mcp_approval_response": {
      const [isApproved, reason] = [field(item, "approve") === true, textField(item, "reason")];
      return { kind: "decision", id: textField(item, "approval_request_id"), isApproved, reason };
    }
    default: {
      const name = textField(item, "name") || type;
      if (id === "") return { kind: "content", blocks: contentOf({ ...item, type }, name) };
      if (type.endsWith("_output")) {
        const isError = field(item, "status") === "failed";
        return { kind: "result", id, blocks: blocksOf(field(item, "output") ?? item), isError };
      }
      return {
        kind: "call",
        id,
        name,
        input: field(item, "arguments") ?? field(item, "input") ?? field(item, "action"),
      };
    }
  }
}
