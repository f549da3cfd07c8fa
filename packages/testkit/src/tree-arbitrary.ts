import fc from "fast-check";

export interface TreeOptions {
  /** Steps at most; a step is a turn, a change or a move. Default 14. */
  maxSteps?: number;
  /** Tokens of one message at most. Default 60. */
  maxTokens?: number;
  /** Whether the leaf is moved, so that branches arise. Default true. */
  branches?: boolean;
  /** Whether there are compactions and their undoing. Default true. */
  compactions?: boolean;
  /** Whether there is all else that we write: pins, merged branches, compactions made anew, records. Default false. */
  own?: boolean;
}

/**
 * Random sessions as history notation: build them with `history()`. A failing one prints as one line.
 * They hold tool calls with parallel and failed results, aborted answers, commands, extension messages, edits,
 * masks, metadata, and by default compactions, undo, redo and branches.
 */
export function treeArbitrary(options: TreeOptions = {}): fc.Arbitrary<string> {
  const maxTokens = options.maxTokens ?? 60;
  const choices: Array<fc.WeightedArbitrary<string>> = [
    { weight: 8, arbitrary: turnArbitrary(maxTokens) },
    { weight: 2, arbitrary: looseArbitrary(maxTokens) },
    { weight: 2, arbitrary: fc.constantFrom("m", "k", "l", "i", "p") },
    { weight: 2, arbitrary: changeArbitrary() },
  ];
  if (options.compactions ?? true) choices.push({ weight: 2, arbitrary: compactionArbitrary() });
  if (options.own) choices.push({ weight: 4, arbitrary: ownArbitrary() });
  if (options.branches ?? true) choices.push({ weight: 1, arbitrary: fc.nat(99).map((pick) => `^%${pick}`) });
  return fc
    .array(fc.oneof(...choices), { minLength: 1, maxLength: options.maxSteps ?? 14 })
    .map((steps) => numberCalls(["U", ...steps].join(" | ")));
}

/** A user message, some rounds of tool calls, and mostly an answer. */
function turnArbitrary(maxTokens: number): fc.Arbitrary<string> {
  return fc
    .record({
      size: fc.nat(maxTokens),
      rounds: fc.array(roundArbitrary(maxTokens), { maxLength: 3 }),
      end: fc.constantFrom("A", "A", "A", "A~aborted", "A~error", ""),
    })
    .map(({ size, rounds, end }) => [`U:${size}`, ...rounds, end].filter((word) => word !== "").join(" "));
}

/** An answer with one to three calls and their results, in any order, some of them failed. */
function roundArbitrary(maxTokens: number): fc.Arbitrary<string> {
  const tool = fc.constantFrom("read:a.ts", "edit:a.ts", "write:b.ts", "read:c.ts", "bash:ls");
  const call = fc.record({
    tool,
    size: fc.nat(maxTokens),
    failed: fc.boolean(),
    order: fc.nat(99),
    metadata: fc.boolean(),
  });
  return fc.array(call, { minLength: 1, maxLength: 3 }).map((calls) => {
    const specs = calls.map(({ tool: name }, index) => `#${index}=${name}`).join(" ");
    const results = calls
      .map((each, index) => ({ ...each, index }))
      .sort((a, b) => a.order - b.order)
      .map(
        ({ index, size, failed, metadata }) =>
          `T(#${index}):${size}${failed ? "!" : ""}${metadata ? " p" : ""}`,
      );
    return `A(${specs}) ${results.join(" ")}`;
  });
}

function looseArbitrary(maxTokens: number): fc.Arbitrary<string> {
  return fc
    .record({ word: fc.constantFrom("B", "X", "S", "U"), size: fc.nat(maxTokens), hidden: fc.boolean() })
    .map(({ word, size, hidden }) => `${word}:${size}${word === "B" && hidden ? "!" : ""}`);
}

function changeArbitrary(): fc.Arbitrary<string> {
  return fc
    .record({ word: fc.constantFrom("E", "M"), pick: fc.nat(99), text: fc.constantFrom("", '"changed"') })
    .map(({ word, pick, text }) => `${word}(%${pick})${word === "E" ? text : ""}`);
}

function compactionArbitrary(): fc.Arbitrary<string> {
  return fc
    .record({ word: fc.constantFrom("C", "C", "C", "C()", "Z", "Y"), pick: fc.nat(99) })
    .map(({ word, pick }) => (word === "C()" ? word : `${word}(%${pick})`));
}

/** Few texts, so that a pin is met again: pinned twice, taken back, carried by a summary. */
function ownArbitrary(): fc.Arbitrary<string> {
  const pinned = fc.constantFrom("one", "two");
  return fc.oneof(
    fc.tuple(fc.constantFrom("P", "P", "Q"), pinned).map(([word, text]) => `${word}"${text}"`),
    fc.tuple(fc.nat(99), pinned).map(([pick, text]) => `C(%${pick})"${text}"`),
    fc.nat(99).map((pick) => `C(%${pick})"made anew"!`),
    fc.constantFrom("S!", 'p"bonsai.beside"'),
  );
}

/** Gives the calls of every round ids of their own: `#0` of the third round becomes `t300`. */
function numberCalls(notation: string): string {
  const rounds = notation.split("A(");
  return rounds.map((round, index) => round.replaceAll(/#(\d)/g, `t${index}0$1`)).join("A(");
}
