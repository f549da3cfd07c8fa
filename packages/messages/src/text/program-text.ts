import { contentText } from "./text.ts";
import { typedLine } from "./typed-text.ts";

/** A tag of several words, as programs name their frames: `<task-notification>`, `<environment_context>`. */
const MACHINE_TAG = /^<([a-z][a-z\d]*(?:[-_][a-z\d]+)+)(?:\s[^<>]{0,500})?>/;
/** "Operation stopped by hook: …" */
const OF_A_HOOK =
  /^(?:[A-Z][\w-]{0,40} )?(?:operation|execution|continuation|request|prompt|tool(?: use| call)?) (?:was )?(?:stopped|blocked|denied|prevented|cancell?ed) by (?:[\w:-]{1,60} )?hook\b/i;
/** "System: Please continue." */
const OF_THE_SYSTEM = /^System: .{1,200}$/;

/**
 * True for a text that a program wrote in the user's place, by its form: nothing but elements with tags of several words,
 * a sentence about a hook, or one line in the name of the system.
 */
export function isProgramText(text: string): boolean {
  const whole = text.trim();
  return isMachineFrame(whole) || OF_A_HOOK.test(whole) || OF_THE_SYSTEM.test(whole);
}

function isMachineFrame(text: string): boolean {
  let rest = text;
  while (rest.startsWith("<")) {
    const [open = "", name = ""] = MACHINE_TAG.exec(rest) ?? [];
    const close = `</${name}>`;
    const at = name === "" ? -1 : rest.indexOf(close, open.length);
    if (at < 0) return false;
    rest = rest.slice(at + close.length).trimStart();
  }
  return rest === "" && text !== "";
}

/** True for a user message of a program. A message that was typed here says so. */
export function isOfProgram(message: { content?: unknown; typed?: unknown }): boolean {
  return typedLine(message) === undefined && isProgramText(contentText(message.content));
}
