import { history } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { COMPACTED, eachWithHome, idsOf, LOG, logOf, recall, textOf } from "./recall-stage.ts";

eachWithHome();

describe("entries", () => {
  const part = async (input: Record<string, unknown>) => {
    const { session, id } = history(COMPACTED);
    return textOf(await recall(session)({ entries: [id("t1")], ...input }));
  };

  test("opens the original entry unchanged", async () => {
    expect(await part({})).toContain(LOG);
  });

  const parts = [
    [{ fromLine: 211 }, "port 48213\n2026-01-05 step 211 is done", "Lines 211 to 300 of 300."],
    [{ fromLine: -1 }, "step 299 is done", "Lines 300 of 300. For earlier lines, use a lower fromLine."],
    [{ around: "PORT 48213" }, "step 202 is done\n", "Lines 203 to 219 of 300."],
  ] as const;
  test("opens a part of an entry by lines or by a text", async () => {
    for (const [input, text, left] of parts) {
      const opened = await part(input);
      expect.soft(opened, JSON.stringify(input)).toContain(text);
      expect.soft(opened, JSON.stringify(input)).toContain(left);
      expect.soft(opened, JSON.stringify(input)).not.toContain("step 100 is done");
    }
  });

  test("counts the rest that does not fit, and the rest can be read", async () => {
    const { session, id } = history(COMPACTED.replace(LOG, logOf(3_000)));
    const part = async (input: object) => textOf(await recall(session)({ entries: [id("t1")], ...input }));
    const opened = await part({});
    const [, next] = /Lines 1 to \d+ of 3,000. Continue with fromLine (\d+)/.exec(opened)!;
    expect(opened).not.toContain(`step ${Number(next) - 1} is done`);
    expect(await part({ fromLine: Number(next) })).toContain(`step ${Number(next) - 1} is done`);
  });

  test("shows a line that is too long around the searched text", async () => {
    const { session, id } = history(
      `U A(t1) T1"${"x".repeat(90_000)} needle ${"y".repeat(90_000)}" A | U C(u2)`,
    );
    const open = recall(session);
    expect(textOf(await open({ entries: id("t1"), around: "needle" }))).toContain(" needle ");
    expect(textOf(await open({ entries: id("t1") }))).toMatch(
      /Characters 1 to [\d,]+ of line 1\. This line has 180,008/,
    );
  });

  const surroundings = [
    ["a line that is too long by itself, with short ones before it", "short\n", 9_000, " needle "],
    ["a line behind others that would take all the room", `${"words ".repeat(900)}\n`.repeat(8), 0, "needle"],
  ] as const;
  test("shows the searched text before its surrounding lines", async () => {
    for (const [name, before, chars, shown] of surroundings) {
      const long = "x".repeat(chars * 10);
      const { session, id } = history(`U A(t1) T1"${before}${long} needle ${long}\nafter" A | U C(u2)`);
      const opened = textOf(await recall(session)({ entries: id("t1"), around: "needle" }));
      expect.soft(opened, name).toContain(shown);
      expect.soft(opened, name).toMatch(/line \d|Lines \d/);
    }
  });

  test("an entry ends with the beginning of a last line that is too long", async () => {
    const { session, id } = history(`U A(t1) T1"first\nsecond\n${"x".repeat(90_000)}" A | U C(u2)`);
    const opened = textOf(await recall(session)({ entries: id("t1"), fromLine: -2 }));
    expect(opened).toMatch(/Characters 1 to [\d,]+ of line 3\. This line has 90,000/);
  });

  test("opens a cleared result by the id of its call, or by an id in brackets", async () => {
    const { session, id } = history(`U A(t1=read:a.ts) T1"tens" A M(t1)`);
    expect(textOf(await recall(session)({ entries: ["t1"] }))).toContain("tens");
    expect(textOf(await recall(session)({ entries: [`[${id("t1")}]`] }))).toContain("tens");
  });

  test("a copy leads to its original, and is no hit itself", async () => {
    const { session, id } = history(COMPACTED);
    const first = await recall(session)({ entries: [id("t1")] });
    const copy = session.append([
      { type: "message", message: { role: "user", content: "port?", timestamp: 1 } },
      {
        type: "message",
        message: {
          role: "toolResult",
          toolCallId: "r1",
          toolName: "recall",
          content: first.content,
          details: first.details,
          isError: false,
          timestamp: 2,
        },
      },
    ]);
    const { id: last } = session.append({
      type: "message",
      message: { role: "user", content: "x", timestamp: 3 },
    });
    session.append({ type: "compaction", summary: "s", firstKeptEntryId: last, tokensBefore: 1 });
    const again = await recall(session)({ entries: [copy[1]!.id] });
    expect(idsOf(again)).toEqual([id("t1")]);
    expect(idsOf(await recall(session)({ query: "port 48213" }))).not.toContain(copy[1]!.id);
  });

  test("images come back within the budget", async () => {
    const kinds = async (notation: string) => {
      const { session, id } = history(notation);
      return (await recall(session)({ entries: [id("t1")] })).content.map(({ type }) => type);
    };
    expect(await kinds("U A(t1) T1*2 A | U C(u2)")).toEqual(["text", "image", "image"]);
    expect(await kinds("U A(t1) T1*4 A | U C(u2)")).toEqual(["text", "image", "image", "image", "text"]);
  });
});

describe("wrong arguments say what to do", () => {
  const wrongArguments = [
    [{}, "Give query to search, or entries"],
    [{ query: "a b", entries: ["x"] }, "not both"],
    [{ query: "  " }, "no word to search for"],
    [{ query: "?! …" }, "no word to search for"],
    [{ entries: [] }, "entries is empty"],
    [{ entries: ["nowhere1"] }, "This session has no entry nowhere1. Find ids with query."],
    [{ query: "port", fromLine: 3 }, "work only with entries"],
    [{ entries: ["t1"], fromLine: 1, around: "x" }, "Give either fromLine or around"],
    [{ entries: ["t1"], around: "" }, "around is empty"],
    [{ entries: ["t1"], fromLine: 0 }, "fromLine is 0; it must be a whole number"],
    [{ query: "port", limit: -1 }, "limit is -1"],
    [{ entries: ["t1"], fromLine: 1.5 }, "fromLine is 1.5"],
    [{ entries: Array.from({ length: 11 }, (_, n) => `t${n}`) }, "the maximum is 10"],
    [{ entries: ["t1"], limit: 1 }, "limit works only with query"],
    [{ query: "port", limit: 1000 }, "the maximum is 20"],
  ] as const;
  test("names the wrong argument and the remedy", async () => {
    for (const [input, message] of wrongArguments) {
      const { session } = history(COMPACTED);
      await expect.soft(recall(session)(input), JSON.stringify(input)).rejects.toThrow(message);
    }
  });

  const wrongEntries = [
    ["u2", {}, "is not hidden"],
    ["c1", {}, "has no text"],
    ["t1", { fromLine: 400 }, "the entry has 300 lines"],
    ["t1", { around: "nothing like it" }, "The entry does not contain"],
  ] as const;
  test("names the entry or the part that cannot be opened", async () => {
    for (const [name, input, message] of wrongEntries) {
      const { session, id } = history(COMPACTED);
      await expect.soft(recall(session)({ entries: [id(name)], ...input }), name).rejects.toThrow(message);
    }
  });
});

describe("a user message left out of the summary", () => {
  const notation = Array.from({ length: 12 }, (_, at) => `U"task ${at + 1}" A"done"`).join(" | ");

  test("opens and is found by its number", async () => {
    const { session, id } = history(`${notation} C(u11)`);
    const ask = recall(session);
    for (let number = 1; number <= 10; number += 1) {
      const opened = await ask({ entries: [`${number}`] });
      expect(idsOf(opened)).toEqual([id(`u${number}`), id(`a${number}`)]);
      expect(textOf(opened)).toContain(`task ${number}`);
      expect(idsOf(await ask({ query: `${number}` }))[0]).toBe(id(`u${number}`));
    }
    await expect(ask({ entries: ["11"] })).rejects.toThrow("is not hidden");
    await expect(ask({ entries: ["99"] })).rejects.toThrow("no entry or message 99");
  });
});
