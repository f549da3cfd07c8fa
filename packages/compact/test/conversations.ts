import fc from "fast-check";

/** A conversation without a format. */
export interface Conversation {
  system: string | undefined;
  turns: Turn[];
}

export interface Turn {
  /** Unique in the conversation. */
  sentence: string;
  attachment: "none" | "image" | "file";
  answers: Answer[];
  closing: string;
}

/** One answer of the model with parallel calls. */
export interface Answer {
  calls: Call[];
  /** The order of the results, as indexes of calls. */
  order: number[];
  hasReasoning: boolean;
  /** A question to the user before the first call runs. */
  approval: "none" | "approved" | "denied";
}

export interface Call {
  id: string;
  command: string;
  result: string;
}

const answers = fc.array(
  fc.record({
    calls: fc.array(fc.record({ isPush: fc.boolean(), lines: fc.integer({ min: 30, max: 120 }) }), {
      minLength: 1,
      maxLength: 3,
    }),
    isReversed: fc.boolean(),
    hasReasoning: fc.boolean(),
    approval: fc.constantFrom("none" as const, "none" as const, "approved" as const, "denied" as const),
  }),
  { minLength: 1, maxLength: 3 },
);

const turns = fc.array(
  fc.record({
    attachment: fc.constantFrom("none" as const, "none" as const, "image" as const, "file" as const),
    answers,
  }),
  { minLength: 1, maxLength: 5 },
);

/** Words without values: a later value marks an earlier one as replaced. */
const NAMES = ["heron", "otter", "lynx", "raven", "bison"];
const OTHER_NAMES = ["marten", "ibis", "stoat", "crane", "tapir"];

/** The same conversation with other sentences, commands and ids. */
export function renamed(conversation: Conversation): Conversation {
  const text = JSON.stringify(conversation).replaceAll("call_", "later_").replaceAll("origin v", "origin w");
  const other = NAMES.reduce((each, name, at) => each.replaceAll(name, OTHER_NAMES[at]!), text);
  return JSON.parse(other) as Conversation;
}

/** Random conversations of up to 5 turns. */
export const conversations: fc.Arbitrary<Conversation> = fc
  .record({ hasSystem: fc.boolean(), turns })
  .map(({ hasSystem, turns: drafts }) => ({
    system: hasSystem ? "You mend tests." : undefined,
    turns: drafts.map(({ attachment, answers }, turn) => ({
      sentence: `Mend the ${NAMES[turn]} test and leave the ${NAMES[turn]} page alone.`,
      attachment,
      closing: `The ${NAMES[turn]} test passes.`,
      answers: answers.map(({ calls, isReversed, ...answer }, step): Answer => {
        const made = calls.map(({ isPush, lines }, at) => ({
          id: `call_${turn}_${step}_${at}`,
          command: isPush ? `git push origin v${turn}.${step}.${at}` : `cat src/file${turn}.ts`,
          result: `${isPush ? "To origin\n" : ""}${"const value = 1; // a line\n".repeat(lines)}`,
        }));
        const order = made.map((_, at) => at);
        return { calls: made, order: isReversed ? order.reverse() : order, ...answer };
      }),
    })),
  }));
