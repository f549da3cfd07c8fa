import { adversarialTexts } from "@bonsai-agent/testkit";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { emptyRecord } from "../../src/details.ts";
import { outcomesAfter } from "../../src/record/outcomes.ts";
import type { SourceMessage } from "../../src/record/statements.ts";
import { ran, said, toolRun } from "./run-messages.ts";

const command = fc.constantFrom(
  "npm test",
  "npm test -- foo",
  "npm run check && npm test",
  "cd a && npm test",
  "make 2>&1 | tail -3",
  "git push",
  "git tag v1; npm publish",
  "cargo test; echo $?",
  "pytest tests/a.py",
  "pytest tests",
  "rm -rf data",
);
const output = fc.constantFrom(
  "",
  "Error: x",
  "3 passed",
  "2 failed",
  "src/a.ts(1,2): error TS1: x",
  "one\ntwo\nthree\nfour",
);
/** A message, or a call with its result: what no cut separates. */
const step: fc.Arbitrary<SourceMessage[]> = fc.oneof(
  fc.tuple(command, output, fc.constantFrom(0, 0, 1)).map(([run, text, code]) => ran(run, text, code)),
  fc
    .boolean()
    .map((isError) => toolRun("edit", { path: "a.ts", oldText: "a" }, { isError, output: "no match" })),
  fc
    .subarray(["one", "two", "three"])
    .map((items) => toolRun("todo", { todos: items.map((text) => ({ text, done: text === "two" })) })),
  fc
    .array(fc.tuple(fc.constantFrom(" ", "x"), fc.constantFrom("write docs", "fix a.ts", "fix b.ts")), {
      maxLength: 3,
    })
    .map((boxes) => [said("assistant", boxes.map(([mark, text]) => `- [${mark}] ${text}`).join("\n"))]),
);

test("a history that is cut anywhere and carried on has the outcomes of the whole", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), fc.nat(20), (steps, cut) => {
      const whole = outcomesAfter(emptyRecord.outcomes, steps.flat());
      const first = JSON.parse(
        JSON.stringify(outcomesAfter(emptyRecord.outcomes, steps.slice(0, cut).flat())),
      );
      expect(outcomesAfter(first, steps.slice(cut).flat())).toEqual(whole);
    }),
  );
});

test("nothing is failing whose last run passed", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), command, (steps, last) => {
      const { failing } = outcomesAfter(emptyRecord.outcomes, [...steps.flat(), ...ran(last, "3 passed")]);
      const again = outcomesAfter(emptyRecord.outcomes, ran(last, "Error: x", 1)).failing;
      for (const { key, folder } of again)
        expect(failing.some((failed) => failed.key === key && failed.folder === folder)).toBe(false);
    }),
  );
});

test("later messages outside the span add nothing", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.array(step, { maxLength: 12 }), (steps, later) => {
      const before = outcomesAfter(emptyRecord.outcomes, steps.flat());
      const after = outcomesAfter(emptyRecord.outcomes, steps.flat(), later.flat());
      expect(after.irreversible).toEqual(before.irreversible);
      for (const { key } of after.failing)
        expect(before.failing.some((failed) => failed.key.includes(key))).toBe(true);
      for (const todo of after.openTodos) expect(before.openTodos).toContainEqual(todo);
    }),
  );
});

test("each part is bounded, the oldest leave first", () => {
  const many = Array.from({ length: 100 }, (_, at) => [
    ...ran(`make t${at}`, "Error: x", 1),
    ...ran(`git tag v${at}`),
    said("user", `- [ ] item_${at}`),
  ]).flat();
  const { failing, irreversible, openTodos } = outcomesAfter(emptyRecord.outcomes, many);
  expect([failing.length, irreversible.length, openTodos.length]).toEqual([40, 60, 60]);
  expect(failing.at(-1)!.key).toBe("make t99");
});

test("damaged messages are read as far as they go", () => {
  const odd: unknown[] = [
    null,
    {},
    { role: "toolResult" },
    { role: "assistant", content: [null, { type: "toolCall" }] },
  ];
  odd.push(
    { role: "bashExecution" },
    { role: "bashExecution", command: "npm test", output: 4, exitCode: "1" },
  );
  odd.push({
    role: "assistant",
    content: [{ type: "toolCall", id: "x", name: "bash", arguments: { command: 4, todos: [null] } }],
  });
  odd.push(
    { role: "toolResult", toolCallId: "x", content: null, details: [], isError: "yes" },
    { role: "user", content: 7 },
  );
  expect(
    outcomesAfter(
      emptyRecord.outcomes,
      odd.map((message) => ({ message }) as SourceMessage),
    ),
  ).toEqual(emptyRecord.outcomes);
});

test("law: a command, an output and a text take linear time", () => {
  fc.assert(
    fc.property(fc.constantFrom(...adversarialTexts()), ([, text]) => {
      const messages = [
        ...ran(text, text, 1),
        ...ran("npm test 2>&1 | tail", text),
        ...ran(`git commit -m "${text}`, "ok"),
        ...toolRun(text, { [text]: text, todos: [{ text, done: false }] }),
        said("user", `- [ ] ${text}\n${text}`),
      ];
      expect(outcomesAfter(emptyRecord.outcomes, messages).openTodos.length).toBeLessThan(61);
    }),
  );
});
