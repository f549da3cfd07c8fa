import {
  type BashExecutionMessage,
  type CustomMessage,
  contentText,
  type Message,
  saidText,
  shortened,
  type UserMessage,
  withoutReminders,
} from "@bonsai-agent/messages";
import {
  CONTINUE_CUSTOM_TYPE,
  isOfProgram,
  PIN_CUSTOM_TYPE,
  readSummary,
  UNPIN_CUSTOM_TYPE,
} from "@bonsai-agent/messages/host";
import { withoutPastes } from "./pasted.ts";

/** A message, and its entry if it has one. */
export interface SourceMessage {
  message: Message;
  entryId?: string | undefined;
}

/** A message that a person wrote, or a command that a person ran. */
export type PersonMessage = UserMessage | BashExecutionMessage;

/** True for a person's message to the agent; it begins a turn. */
export function isUserMessage(message: Message): message is PersonMessage {
  if (message?.role === "user") return !isOfProgram(message);
  return message?.role === "bashExecution" && !message.excludeFromContext;
}

/** The command of a person and its outcome. A damaged field becomes empty, a damaged exit code 0. */
export function ranCommand({ command, output, exitCode }: BashExecutionMessage) {
  return {
    command: typeof command === "string" ? command : "",
    output: typeof output === "string" ? output : "",
    exitCode: typeof exitCode === "number" ? exitCode : 0,
  };
}

const typed = new WeakMap<UserMessage, string>();

/** The text that a person typed, with a line for each pasted block, and calls of skills as typed. Cached per message. */
export function typedText(message: UserMessage): string {
  const known = typed.get(message);
  if (known !== undefined) return known;
  const text = withoutPastes(withoutReminders(saidText(message)).trim()).trim();
  typed.set(message, text);
  return text;
}

/** The notes of a summary in the context, without the frame and the carried data. */
export function summaryProse({ summary }: { summary?: unknown }): string {
  return typeof summary === "string" ? readSummary(summary).prose.trim() : "";
}

/** Returns the text and author of a message from an extension or another program; undefined for other messages. */
export function programText(message: Message): { by: string; text: string } | undefined {
  const type = programType(message);
  if (type === undefined || IGNORED_TYPES.has(type)) return undefined;
  const { content } = message as CustomMessage | UserMessage;
  const text = withoutReminders(contentText(content)).trim();
  const by = type === "" || type.startsWith("bonsai.") ? "program" : `extension ${type}`;
  return { by, text: shortened(withoutPastes(text), MAX_PROGRAM_CHARS) || "(no text)" };
}

/** The type of an extension's message; empty for a user message of a program. */
function programType(message: Message): string | undefined {
  if (message?.role === "custom") return String(message.customType);
  return message?.role === "user" && isOfProgram(message) ? "" : undefined;
}

/** Types without text for the digest: pins are carried as data, and a request to continue has no content. */
const IGNORED_TYPES: ReadonlySet<string> = new Set([
  PIN_CUSTOM_TYPE,
  UNPIN_CUSTOM_TYPE,
  CONTINUE_CUSTOM_TYPE,
]);
/** About 250 tokens, enough to identify a longer text. */
const MAX_PROGRAM_CHARS = 1_000;
