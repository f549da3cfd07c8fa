import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import {
  answer,
  BEGIN,
  call,
  image,
  imported,
  kinds,
  queued,
  type Row,
  result,
  SEEN,
  says,
  seen,
  user,
} from "./claude-code-rows.ts";

describe("Claude Code: words beside results", () => {
  const parallel = [
    user("u1", null, "Mend it."),
    answer("a1", "u1", "m1", [call("one")]),
    answer("a2", "a1", "m1", [call("two")]),
    answer("a3", "a2", "m1", [call("three")]),
  ];
  const CALLS = ["U Mend it.", "A Bash(one) | Bash(two) | Bash(three)"];
  const END = answer("a4", "r3", "m2", [says("Done.")]);

  const AMONG: Array<[what: string, rows: Row[], projection: string[]]> = [
    [
      "stand behind all results of the answer",
      [
        user("r1", "a1", [result("one"), says("Mind the step.")]),
        user("r2", "a2", [result("two")]),
        user("r3", "a3", [result("three")]),
      ],
      ["R Bash ran one", "R Bash ran two", "R Bash ran three", "U Mind the step."],
    ],
    [
      "in several records, with an image",
      [
        user("r1", "a1", [result("one"), says("A"), image]),
        user("r2", "a2", [says("B"), result("two")]),
        user("r3", "a3", [result("three"), says("C")]),
      ],
      ["R Bash ran one", "R Bash ran two", "R Bash ran three", "U A | <image>", "U B", "U C"],
    ],
    [
      "with the results in another order, in a chain",
      [
        user("r2", "a2", [result("two"), says("A")]),
        user("r1", "r2", [result("one")]),
        user("r3", "r1", [result("three")]),
      ],
      ["R Bash ran two", "R Bash ran one", "R Bash ran three", "U A"],
    ],
    [
      "with all results in one record",
      [user("r3", "a3", [result("one"), says("A"), result("three"), result("two")])],
      ["R Bash ran one", "R Bash ran three", "R Bash ran two", "U A"],
    ],
    [
      "with a result that is missing",
      [user("r1", "a1", [result("one"), says("A")]), user("r3", "a3", [result("three")])],
      [
        "R Bash ran one",
        "R Bash ran three",
        "R! Bash [No result: the transcript ends or was interrupted before this call fi",
        "U A",
      ],
    ],
    [
      "as attachments between results",
      [
        user("r1", "a1", [result("one")]),
        queued("q", "r1", "A"),
        user("r2", "a2", [result("two")]),
        user("r3", "a3", [result("three")]),
      ],
      ["R Bash ran one", "R Bash ran two", "R Bash ran three", "U A"],
    ],
  ];
  test.each(AMONG)("%s", (_, rows, projection) => {
    const all = imported(...parallel, ...rows, END);
    expect(seen(all)).toEqual([...CALLS, ...projection, "A Done."]);
    expect(kinds(all).filter((kind) => /branches|call_missing|moved/.test(kind))).toEqual([]);
    // The same without the answer that follows.
    expect(seen(imported(...parallel, ...rows))).toEqual([...CALLS, ...projection]);
  });
});

describe("Claude Code: what is no answer of a model", () => {
  test("text that the program says in the model's name is a note without a model", () => {
    const synthetic = {
      message: { id: "x", model: "<synthetic>", content: [says("No response requested.")], usage: {} },
    };
    const all = imported(
      ...BEGIN,
      user("r1", "a1", [result("one")]),
      answer("p", "r1", "x", [], synthetic),
      user("u2", "p", "Next."),
    );
    expect(all.report.models).toEqual(["anthropic/claude-sonnet-4-5"]);
    expect(JSON.stringify(all.entries)).not.toContain("<synthetic>");
    expect(all.entries.filter((entry) => entry.type === "custom_message")).toMatchObject([
      { customType: "claude-code.notice", content: "No response requested.", display: true },
    ]);
    expect(seen(all)).toEqual([...SEEN, "U Next."]);
    expect(kinds(all)).toEqual(["program_answers 4"]);
  });

  test("a failed request is an answer that failed, of the model that was asked", () => {
    const failed = {
      isApiErrorMessage: true,
      message: { id: "x", model: "<synthetic>", content: [says("API Error: 529")] },
    };
    const all = imported(
      user("u1", null, "Mend it."),
      answer("e", "u1", "x", [], failed),
      answer("a1", "e", "m1", [says("Done.")]),
    );
    const stored = all.entries.flatMap((entry) =>
      entry.type === "message" && entry.message.role === "assistant" ? [entry.message] : [],
    );
    expect(stored.map(({ model, stopReason, errorMessage }) => [model, stopReason, errorMessage])).toEqual([
      ["claude-sonnet-4-5", "error", "API Error: 529"],
      ["claude-sonnet-4-5", "stop", undefined],
    ]);
  });

  const ABORTED: Array<[what: string, rows: Row[], stops: string[]]> = [
    ["before an answer came", [user("u1", null, "Mend it.")], ["aborted"]],
    [
      "within an answer",
      [user("u1", null, "Mend it."), answer("u1b", "u1", "m1", [says("I am")])],
      ["aborted"],
    ],
    ["before a call had run", [...BEGIN], ["aborted"]],
    ["after a call had run", [...BEGIN, user("r1", "a1", [result("one")])], ["toolUse", "aborted"]],
  ];
  test("a cancelled turn is marked", () =>
    everyRow(ABORTED)(([, rows, stops]) => {
      const last = rows.at(-1)!.uuid as string;
      const all = imported(
        ...rows,
        user("i", last, [says("[Request interrupted by user]")]),
        user("u9", "i", "Anew."),
      );
      const stored = all.entries.flatMap((entry) =>
        entry.type === "message" && entry.message.role === "assistant" ? [entry.message.stopReason] : [],
      );
      expect(stored).toEqual(stops);
      expect(seen(all).at(-1)).toBe("U Anew.");
      expect(kinds(all)).toContain(`cancelled_turns ${rows.length + 1}`);
    }));
});
