import { contentBlocks } from "@bonsai-agent/messages";
import { quotedFiles } from "@bonsai-agent/messages/host";

/** The texts of a message that a search looks at, one by one: no match spans two of them. */
export function* messageTexts(message: unknown): Generator<string> {
  if (typeof message !== "object" || message === null) return;
  const { role, content, typed, command, output, errorMessage } = message as Record<string, unknown>;
  if (typeof typed === "string") yield typed;
  for (const text of contentTexts(content)) {
    if (role === "user") yield* sentTexts(text);
    else yield text;
  }
  for (const text of [command, output, errorMessage]) if (typeof text === "string") yield text;
}

/** The typed text, and each file that was sent with it, without the tags between them. */
function* sentTexts(sent: string): Generator<string> {
  const { text, files } = quotedFiles(sent);
  yield text;
  for (const { path, content } of files) yield* [path, content];
}

/** The texts of a message's content, see `messageTexts`. */
export function* contentTexts(content: unknown): Generator<string> {
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
