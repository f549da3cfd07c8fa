import type { ToolRenderContext } from "@bonsai-agent/extension";
import { openTestSession, type TestSession } from "@bonsai-agent/extension/testing";
import { afterEach, describe, expect, test } from "vitest";
import todo from "../index.ts";

let open: TestSession | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

interface Call {
  action: string;
  texts?: string[];
  ids?: number[];
}

/** A session in which the model makes these calls, one answer each, and then stops. */
async function afterCalls(...calls: Call[]): Promise<TestSession> {
  open = await openTestSession({
    extensions: todo,
    ui: {},
    answers: [
      ...calls.map((call) => ({ calls: [{ name: "todo", arguments: { ...call } }] })),
      "Done for now.",
      "Done again.",
    ],
  });
  await open.prompt("Go on.");
  return open;
}

function results({ session }: TestSession): string[] {
  return session.projection().items.flatMap(({ message }) => {
    if (message.role !== "toolResult") return [];
    const [block] = message.content;
    return [`${message.isError ? "error: " : ""}${block?.type === "text" ? block.text : ""}`];
  });
}

async function shownBy(session: TestSession): Promise<unknown> {
  await session.command("/todos");
  return session.ui.at(-1)?.args[0];
}

test("in the chat, a result shows what is left to do; unfolded, the whole list", async () => {
  const { extensions, agent } = await afterCalls(
    { action: "add", texts: ["one", "two", "three", "four", "five", "six", "seven"] },
    { action: "done", ids: [1] },
    { action: "done", ids: [99] },
  );
  const same = (text: string) => text;
  const theme = {
    ...{ fg: (_color: string, text: string) => text, bg: (_color: string, text: string) => text },
    ...{ bold: same, italic: same, underline: same, inverse: same, strikethrough: same },
    ...{ name: "test", appearance: "dark" as const, getColorMode: () => "none" as const },
    ...{ getFgAnsi: () => "", getBgAnsi: () => "" },
  };
  const drawn = agent.session
    .projection()
    .items.flatMap(({ message }) => (message.role === "toolResult" ? [message] : []))
    .map((result) =>
      [false, true].map((expanded) =>
        extensions.renderers
          .tool("todo")
          ?.result(result, { expanded, isPartial: false }, theme, {} as ToolRenderContext)
          ?.render(80),
      ),
    );
  expect(drawn[1]).toEqual([
    ["1 of 7 done", "○ #2 two", "○ #3 three", "○ #4 four", "○ #5 five", "○ #6 six", "… 1 more"],
    [
      "1 of 7 done",
      "✓ #1 one",
      ...["two", "three", "four", "five", "six", "seven"].map((each, at) => `○ #${at + 2} ${each}`),
    ],
  ]);
  expect(drawn[2]).toEqual([undefined, undefined]);
});

describe("the tool", () => {
  test("adds, ticks off, reopens and removes, and shows the whole list each time", async () => {
    const session = await afterCalls(
      { action: "add", texts: ["write the parser", "test it"] },
      { action: "done", ids: [1] },
      { action: "add", texts: ["document it"] },
      { action: "remove", ids: [2] },
      { action: "reopen", ids: [1] },
    );
    expect(results(session)).toEqual([
      "[ ] #1 write the parser\n[ ] #2 test it",
      "[x] #1 write the parser\n[ ] #2 test it",
      "[x] #1 write the parser\n[ ] #2 test it\n[ ] #3 document it",
      "[x] #1 write the parser\n[ ] #3 document it",
      "[ ] #1 write the parser\n[ ] #3 document it",
    ]);
  });

  test("clears the list, and begins to count anew", async () => {
    const session = await afterCalls(
      { action: "add", texts: ["one"] },
      { action: "clear" },
      { action: "add", texts: ["another"] },
    );
    expect(results(session).slice(1)).toEqual(["The to-do list is empty.", "[ ] #1 another"]);
  });

  test("shows the model what was wrong with a call, and changes nothing", async () => {
    const session = await afterCalls(
      { action: "add", texts: ["one"] },
      { action: "done", ids: [1, 7] },
      { action: "done" },
      { action: "add" },
      { action: "list" },
    );
    expect(results(session).slice(1)).toEqual([
      "error: Unknown to-do id: 7.\n[ ] #1 one",
      "error: ids is missing. Give the ids of the to-dos.\n[ ] #1 one",
      "error: add requires texts.",
      "[ ] #1 one",
    ]);
  });
});

describe("the list", () => {
  test("is shown to the user by /todos", async () => {
    expect(await shownBy(await afterCalls({ action: "add", texts: ["one"] }))).toBe("[ ] #1 one");
  });

  test("follows the branch: going back brings back the list of then", async () => {
    const session = await afterCalls({ action: "add", texts: ["one"] }, { action: "done", ids: [1] });
    const added = session.session.projection().items.find(({ message }) => message.role === "toolResult");
    await session.agent.navigate(added!.entryId);
    expect(await shownBy(session)).toBe("[ ] #1 one");
  });

  test("survives a reload of the extension", async () => {
    const session = await afterCalls({ action: "add", texts: ["one"] });
    await session.extensions.reload();
    expect(await shownBy(session)).toBe("[ ] #1 one");
  });

  test("of what is open is carried over by every compaction, and lives on behind it", async () => {
    const session = await afterCalls(
      { action: "add", texts: ["write <the> parser", "test it"] },
      { action: "done", ids: [2] },
    );
    for (const _compaction of [1, 2]) {
      await session.prompt(`More. ${"Words and words. ".repeat(6_000)}`);
      expect((await session.agent.compact()).status).toBe("compacted");
      const [summary] = session.session.projection().items;
      expect(JSON.stringify(summary)).toContain("open-todos");
      expect(JSON.stringify(summary)).toContain("#1 write");
      expect(JSON.stringify(summary)).not.toContain("#2 test it");
    }
    expect(await shownBy(session)).toBe("[ ] #1 write <the> parser\n[x] #2 test it");
  });

  test("adds nothing to a compaction when nothing is open", async () => {
    const session = await afterCalls({ action: "add", texts: ["one"] }, { action: "done", ids: [1] });
    await session.prompt(`More. ${"Words and words. ".repeat(6_000)}`);
    expect((await session.agent.compact()).status).toBe("compacted");
    expect(JSON.stringify(session.session.projection().items[0])).not.toContain("open-todos");
  });
});
