import { contentBlocks } from "@bonsai-agent/messages";
import type { Entry } from "./entry.ts";

/** Every text of an entry that a person may look for, one by one: a match never spans two of them. */
export function* entryTexts(entry: Entry): Generator<string> {
  switch (entry.type) {
    case "message":
      yield* messageTexts(entry.message as unknown);
      break;
    case "custom_message":
      yield* contentTexts(entry.content);
      break;
    case "context_edit":
      yield* contentTexts(entry.replacement?.content);
      break;
    default:
      yield* namedTexts(entry);
  }
}

function* namedTexts(entry: Entry): Generator<string> {
  const { summary, label, name, modelId } = entry as unknown as Record<string, unknown>;
  for (const text of [summary, label, name, modelId]) if (typeof text === "string") yield text;
}

function* messageTexts(message: unknown): Generator<string> {
  if (typeof message !== "object" || message === null) return;
  const { content, command, output, errorMessage } = message as Record<string, unknown>;
  yield* contentTexts(content);
  for (const text of [command, output, errorMessage]) if (typeof text === "string") yield text;
}

function* contentTexts(content: unknown): Generator<string> {
  for (const block of contentBlocks(content)) {
    if (typeof block.text === "string") yield block.text;
    if (typeof block.thinking === "string") yield block.thinking;
    if (block.type === "toolCall") yield* callTexts(block);
  }
}

function* callTexts(call: Record<string, unknown>): Generator<string> {
  if (typeof call.name === "string") yield call.name;
  yield* leafTexts(call.arguments);
}

/** The strings and numbers inside arguments, as they were meant, not as JSON writes them. */
function* leafTexts(value: unknown): Generator<string> {
  // A stack of our own: arguments can be nested deeper than calls may be.
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "string" || typeof next === "number") yield String(next);
    else if (typeof next === "object" && next !== null) {
      for (const inner of Object.values(next).reverse()) open.push(inner);
    }
  }
}
