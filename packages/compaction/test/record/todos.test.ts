import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { emptyRecord } from "../../src/details.ts";
import { outcomesAfter } from "../../src/record/outcomes.ts";
import type { SourceMessage } from "../../src/record/statements.ts";
import { said, toolRun } from "./run-messages.ts";

const open = (messages: readonly SourceMessage[], following: readonly SourceMessage[] = []) =>
  outcomesAfter(emptyRecord.outcomes, messages, following).openTodos.map(({ text }) => text);

const LISTS: ReadonlyArray<[tool: string, args: Record<string, unknown>]> = [
  [
    "TodoWrite",
    {
      todos: [
        { content: "a", status: "pending" },
        { content: "b", status: "completed" },
      ],
    },
  ],
  [
    "update_plan",
    {
      plan: [
        { step: "a", status: "in_progress" },
        { step: "b", status: "completed" },
      ],
    },
  ],
  [
    "tasks",
    {
      list: [
        { title: "a", done: false },
        { title: "b", done: true },
      ],
    },
  ],
  [
    "todo",
    {
      anything: [
        { text: "a", checked: false },
        { text: "b", checked: true },
      ],
    },
  ],
];

test("finds the open items of a tool's list by its shape", () =>
  everyRow(LISTS)(([tool, args]) => {
    expect(open(toolRun(tool, args))).toEqual(["a"]);
    expect(open(toolRun(tool, {}, { details: args }))).toEqual(["a"]);
    expect(open(toolRun(tool, args, { isError: true }))).toEqual([]);
  }));

const list = (...items: string[]) =>
  toolRun("todo_write", {
    todos: items.map((item) => ({
      content: item.replace("!", ""),
      status: item.endsWith("!") ? "completed" : "pending",
    })),
  });

test("the newest list of a tool replaces the previous one, even if it is empty", () => {
  expect(open([...list("a", "b"), ...list("b", "c")])).toEqual(["b", "c"]);
  expect(open([...list("a", "b"), ...list()])).toEqual([]);
  expect(open([...toolRun("plan", { plan: [{ step: "x", status: "pending" }] }), ...list("b")])).toEqual([
    "x",
    "b",
  ]);
});

test("the same text ticks off a check box of the user or the agent", () => {
  const plan = said(
    "assistant",
    "Plan:\n- [ ] Migrate `ledger_1`\n- [ ] migrate ledger_2\n* [x] look\n1. [ ] 更新安装文档\n☐ Schlüssel tauschen",
  );
  expect(open([plan])).toEqual([
    "Migrate `ledger_1`",
    "migrate ledger_2",
    "更新安装文档",
    "Schlüssel tauschen",
  ]);
  const done = said("user", [
    { type: "text", text: "- [x] migrate **ledger_1**\n- [X] 更新安装文档。\n- [x] schlüssel tauschen" },
  ]);
  expect(open([plan, done])).toEqual(["migrate ledger_2"]);
  expect(open([plan, plan])).toHaveLength(4);
});

test("the same text is one to-do for any author; another word makes another to-do", () => {
  const box = said("user", "- [ ] write a test for x");
  expect(
    open([box, said("assistant", "Plan:\n* [ ] Write a test for `x`."), ...list("write a test for x")]),
  ).toEqual(["write a test for x"]);
  const two = said("user", "- [ ] add tests for the parser\n- [ ] add tests for the lexer");
  expect(open([two])).toHaveLength(2);
  expect(open([two, said("assistant", "- [x] add tests for the lexer")])).toEqual([
    "add tests for the parser",
  ]);
});

test("ignores boxes in a code fence and values that only look like lists", () => {
  expect(open([said("user", "```md\n- [ ] a template\n```\nsee [ ] and a[ ]b")])).toEqual([]);
  expect(open(toolRun("edit", { path: "a", edits: [{ text: "a" }] }))).toEqual([]);
  expect(open(toolRun("ask", { options: [{ title: "a" }, { title: "b" }] }))).toEqual([]);
});

test("messages after the span tick off to-dos but add none", () => {
  expect(open(list("a", "b"), list("a!", "b", "c"))).toEqual(["b"]);
  expect(
    open([said("user", "- [ ] write the docs")], [said("assistant", "- [x] Write the docs\n- [ ] new")]),
  ).toEqual([]);
});
