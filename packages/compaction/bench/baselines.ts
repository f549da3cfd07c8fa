import { callsIn, type Message, messageText } from "@bonsai-agent/messages";

const MAX_CHARS = 300;
const PASTED_LINES = 4;
const LAST_LINES = 4;

/** All user messages, unchanged. */
export function userMessages(messages: readonly Message[]): string {
  return messages
    .filter((message) => message.role === "user")
    .map(messageText)
    .join("\n");
}

/** All sentences of the user, without pasted blocks. */
export function userSentences(messages: readonly Message[]): string {
  return messages
    .filter((message) => message.role === "user")
    .map((message) => ownWords(messageText(message)))
    .join("\n");
}

/**
 * A lower bound for a digest, without word lists or judgement. In order: the user's sentences, the agent's closing
 * sentences unless their shape repeats, and each command whose last run failed, with its last lines.
 */
export function sketchOf(messages: readonly Message[]): string {
  const shapes = new Set<string>();
  const failures = lastFailures(messages);
  return messages
    .flatMap((message, at) => {
      if (message.role === "user") return [ownWords(messageText(message))];
      if (message.role === "toolResult") return failures.get(at) ?? [];
      if (message.role !== "assistant" || callsIn(message).length > 0) return [];
      return sentences(messageText(message)).filter((sentence) => isNew(shapes, shapeOf(sentence)));
    })
    .join("\n");
}

/** The text without fenced blocks and runs of many lines. */
function ownWords(text: string): string {
  const blocks = text.replace(/```[\s\S]*?(?:```|$)/g, "\n\n").split(/\n{2,}/);
  const own = blocks.filter((block) => block.split("\n").length < PASTED_LINES);
  return own.flatMap(sentences).join("\n");
}

function sentences(text: string): string[] {
  return text
    .split(/(?<=[.!?])\s+|(?<=[。！？])|\n/)
    .map((sentence) => sentence.trim().slice(0, MAX_CHARS))
    .filter((sentence) => sentence !== "");
}

/** The sentence without its names and numbers. */
function shapeOf(sentence: string): string {
  return sentence.replace(/`[^`]*`|\S*[\d/_]\S*|\S*[a-z][A-Z]\S*/g, "_");
}

function isNew(seen: Set<string>, shape: string): boolean {
  return seen.size < seen.add(shape).size;
}

/** By index of the result: the last lines of each command whose last run failed. */
function lastFailures(messages: readonly Message[]): Map<number, string[]> {
  const commands = new Map<string, string>();
  const last = new Map<string, { at: number; lines: string[] }>();
  for (const [at, message] of messages.entries()) {
    for (const call of callsIn(message)) commands.set(call.id, String(call.arguments.command ?? ""));
    if (message.role !== "toolResult") continue;
    const command = commands.get(message.toolCallId) ?? "";
    const output = messageText(message).trim().split("\n").slice(-LAST_LINES);
    if (message.isError) last.set(command, { at, lines: [`failed: ${command}`, ...output] });
    else last.delete(command);
  }
  return new Map([...last.values()].map(({ at, lines }) => [at, lines]));
}
