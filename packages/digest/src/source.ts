import {
  type BashExecutionMessage,
  isOfProgram,
  type Message,
  saidText,
  type UserMessage,
  withoutReminders,
} from "@bonsai-agent/messages";
import { ownWords } from "./pasted.ts";

/** A message, and the entry that it comes from where there is one. */
export interface SourceMessage {
  message: Message;
  entryId?: string | undefined;
}

/** What a person wrote, or the command that a person ran. */
export type PersonMessage = UserMessage | BashExecutionMessage;

/** True for what a person said to the agent: it begins a turn. */
export function isSaid(message: Message): message is PersonMessage {
  if (message?.role === "user") return !isOfProgram(message);
  return message?.role === "bashExecution" && !message.excludeFromContext;
}

/** What a person ran; a field that is damaged counts as empty, and as no failure. */
export function ranCommand({ command, output, exitCode }: BashExecutionMessage) {
  return {
    command: typeof command === "string" ? command : "",
    output: typeof output === "string" ? output : "",
    exitCode: typeof exitCode === "number" ? exitCode : 0,
  };
}

const typed = new WeakMap<UserMessage, string>();

/** What a person typed: what was pasted is a line that names it, and so is a skill. Read once for each message. */
export function typedText(message: UserMessage): string {
  const known = typed.get(message);
  if (known !== undefined) return known;
  const text = ownWords(withoutReminders(saidText(message)).trim()).trim();
  typed.set(message, text);
  return text;
}
