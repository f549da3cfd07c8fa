import type { Repair, RepairKind } from "./repair.ts";

/** One and several, as people read them; `#` stands for the number. */
const details: Readonly<Record<RepairKind, readonly [one: string, several: string]>> = {
  damaged_content: [
    "A damaged part of a message was left out.",
    "# damaged parts of messages were left out.",
  ],
  unpaired_call: [
    "A tool call without a result was given one that says so.",
    "# tool calls without a result were given one that says so.",
  ],
  unpaired_result: [
    "A tool result without its call was told as text, or left out where it said nothing.",
    "# tool results without their calls were told as text, or left out where they said nothing.",
  ],
  misplaced_result: ["A tool result was put behind its call.", "# tool results were put behind their calls."],
  duplicate_result: ["A second result of one call was left out.", "# second results of calls were left out."],
  empty_message: [
    "A message or a part of one without content was left out or marked.",
    "# messages or parts of them without content were left out or marked.",
  ],
  failed_answer: [
    "An answer that had broken off was left out, or kept as far as its text goes.",
    "# answers that had broken off were left out, or kept as far as their text goes.",
  ],
  bound_thinking: [
    "Thinking that belongs to another model or to a context that is no more was left out.",
    "# parts of thinking that belong to another model or to a context that is no more were left out.",
  ],
  lone_surrogate: [
    "A character that is no valid Unicode was replaced in one message.",
    "Characters that are no valid Unicode were replaced in # messages.",
  ],
  call_id: [
    "A tool call that shared its id with an earlier one got its own.",
    "# tool calls that shared their ids with earlier ones got their own.",
  ],
  image_not_supported: [
    "An image was left out: the model takes text only.",
    "# images were left out: the model takes text only.",
  ],
  too_many_bytes: [
    "An image was left out: the request would have been too large.",
    "# images were left out: the request would have been too large.",
  ],
  no_user_first: [
    "A line was put in front, because a conversation has to begin with the user.",
    "A line was put in front, because a conversation has to begin with the user.",
  ],
};

/** Tells people of a repair. */
export function repairOf(kind: RepairKind, count: number): Repair {
  const [one, several] = details[kind];
  return { kind, count, detail: count === 1 ? one : several.replace("#", count.toLocaleString("en")) };
}
