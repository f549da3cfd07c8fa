import { quotedFiles } from "./quoted-files.ts";
import { skillCallIn, withoutSkill } from "./skill-call.ts";
import { contentText, withoutReminders } from "./text.ts";

// What a user typed and what was sent for it are two texts. These three tell them apart, for whoever shows, counts or
// carries over a message; each is total, also for a message that is damaged.

/** A user's message, as far as its text goes. */
interface SaidMessage {
  role?: unknown;
  content?: unknown;
  typed?: unknown;
}

/** What the user typed: with the names of the files that were sent with it, without what they hold. */
export function typedText(message: SaidMessage): string {
  return typedLine(message) ?? quotedFiles(ownText(message)).text;
}

/** What the user said: a call of a template or a skill as it was typed, any other text with the files sent with it. */
export function saidText(message: SaidMessage): string {
  return typedLine(message) ?? withoutSkill(ownText(message));
}

/** What the agent was asked: as it was said, and below it what a template made of it. */
export function askedText(message: SaidMessage): string {
  const asked = new Set([typedLine(message), withoutSkill(ownText(message))]);
  return [...asked].filter(Boolean).join("\n\n");
}

/** What was typed, where something else was sent for it, or where it reads like a program's text. */
export function typedLine({ typed }: SaidMessage): string | undefined {
  return typeof typed === "string" && typed.trim() !== "" ? typed : undefined;
}

/** Word for word; empty for a mere reminder of a program's, and without those around the call of a skill. */
function ownText({ content }: SaidMessage): string {
  const text = contentText(content);
  const own = withoutReminders(text).trim();
  return own === "" || skillCallIn(own) !== undefined ? own : text;
}
