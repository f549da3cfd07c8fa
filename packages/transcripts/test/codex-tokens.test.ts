import { everyRow } from "@bonsai-agent/testkit";
import type { ImportResult } from "@bonsai-agent/transcripts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answers, asks, calls, event, type Line, output, rollout } from "./codex-rollout.ts";

/** A request's counts: `input` tokens, a tenth of them out. */
function counter() {
  let total = 0;
  const usage = (input: number) => ({
    input_tokens: input,
    cached_input_tokens: 0,
    output_tokens: input / 10,
    total_tokens: input * 1.1,
  });
  return (input: number): Line => {
    total += input;
    return event({
      type: "token_count",
      info: { total_token_usage: usage(total), last_token_usage: usage(input) },
      rate_limits: null,
    });
  };
}
const LIMITS = event({ type: "token_count", info: null, rate_limits: { primary: { used_percent: 1 } } });

/** Input tokens of each answer, and of requests that stand apart. */
function counted({ entries, report }: ImportResult) {
  const answered = entries.flatMap((entry) =>
    entry.type === "message" && entry.message.role === "assistant" ? [entry.message.usage.input] : [],
  );
  const apart = entries.flatMap((entry) => (entry.type === "usage" ? [entry.usage.input] : []));
  return { answers: answered, apart, sum: report.usage.input };
}

describe("Codex: counts of tokens", () => {
  const before = (count = counter()): Line[] => [
    ...[asks("one"), LIMITS, count(100), calls("a"), output("a"), count(200), answers("1")],
    ...[asks("two"), LIMITS, count(300), answers("2")],
  ];
  const after = (count = counter()): Line[] => [
    ...[asks("one"), LIMITS, calls("a"), count(100), output("a"), answers("1"), count(200)],
    ...[asks("two"), LIMITS, answers("2"), count(300)],
  ];
  const BOTH = { answers: [100, 200, 300], apart: [], sum: 600 };

  test("before their items, in every version", () =>
    everyRow(["0.39.0", "0.103.9", undefined, "0.128.0"])((version) => {
      expect(counted(rollout(version, ...before()))).toEqual(BOTH);
    }));

  test("after their items, in every version", () =>
    everyRow(["0.39.0", "0.104.0", undefined, "1.2.0"])((version) => {
      expect(counted(rollout(version, ...after()))).toEqual(BOTH);
    }));

  test("a session that another version went on with", () => {
    const count = counter();
    const both = rollout("0.39.0", ...before(count), ...after(count));
    expect(counted(both)).toEqual({ answers: [100, 200, 300, 100, 200, 300], apart: [], sum: 1200 });
  });

  test("the version decides if the order does not", () => {
    const open = (count = counter()) => [asks("one"), answers("1"), count(100), answers("2")];
    expect(counted(rollout("0.50.0", ...open())).answers).toEqual([0, 100]);
    expect(counted(rollout("0.120.0", ...open())).answers).toEqual([100, 0]);
  });

  const SUMS: Array<[what: string, lines: (count: (input: number) => Line) => Line[], expected: object]> = [
    [
      "a turn that was aborted before its items",
      (count) => [
        asks("one"),
        count(100),
        event({ type: "turn_aborted", reason: "interrupted" }),
        asks("two"),
        count(50),
        answers("2"),
      ],
      { sum: 150 },
    ],
    [
      "a request whose counts are not in the file",
      (count) => [asks("one"), answers("1"), ...[count(100), count(200)].slice(1)],
      { answers: [200], apart: [100], sum: 300 },
    ],
    [
      "a request without items",
      (count) => [asks("one"), answers("1"), count(100), count(40), asks("two"), answers("2"), count(10)],
      { answers: [100, 10], apart: [40], sum: 150 },
    ],
    [
      "counts that are told again",
      (count) => {
        const again = count(100);
        return [asks("one"), answers("1"), again, again, LIMITS, asks("two"), again, answers("2"), count(30)];
      },
      { answers: [100, 30], apart: [], sum: 130 },
    ],
    [
      "counts that begin anew",
      (count) => [asks("one"), answers("1"), count(100), asks("two"), answers("2"), counter()(30)],
      { answers: [100, 30], apart: [], sum: 130 },
    ],
    [
      "totals alone",
      () => {
        const total = (input_tokens: number, output_tokens: number) =>
          event({
            type: "token_count",
            info: { total_token_usage: { input_tokens, output_tokens, cached_input_tokens: 0 } },
          });
        return [asks("one"), answers("1"), total(100, 5), asks("two"), answers("2"), total(130, 9)];
      },
      { answers: [100, 30], sum: 130 },
    ],
    [
      "the latest request alone",
      () => {
        const last = (input_tokens: number) =>
          event({ type: "token_count", info: { last_token_usage: { input_tokens, output_tokens: 1 } } });
        return [asks("one"), answers("1"), last(100), last(100), asks("two"), answers("2"), last(30)];
      },
      { answers: [100, 30], sum: 130 },
    ],
  ];
  test.each(SUMS)("%s", (_, lines, expected) => {
    expect(counted(rollout(undefined, ...lines(counter())))).toMatchObject(expected);
  });

  test("law: the sum is the last total, whatever the turns", () => {
    const request = fc.record({
      input: fc.integer({ min: 1, max: 9 }),
      has: fc.constantFrom("call", "text", "nothing"),
      isTold: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(fc.array(request, { maxLength: 4 }), { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        (turns, isBefore) => {
          const count = counter();
          let total = 0;
          let toldTotal = 0;
          const lines = turns.flatMap((requests, turn) => [
            asks(`prompt ${turn}`),
            ...requests.flatMap(({ input, has, isTold }, at): Line[] => {
              const id = `${turn}.${at}`;
              total += input * 10;
              const counts = count(input * 10);
              if (isTold) toldTotal = total;
              const items = has === "call" ? [calls(id), output(id)] : has === "text" ? [answers(id)] : [];
              const told = isTold ? [counts] : [];
              return isBefore ? [...told, ...items] : [...items, ...told];
            }),
          ]);
          const { usage } = rollout(isBefore ? "0.60.0" : "0.110.0", ...lines).report;
          expect([usage.input, usage.output]).toEqual([toldTotal, toldTotal / 10]);
        },
      ),
    );
  });
});
