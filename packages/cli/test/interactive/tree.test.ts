import type { Scenario } from "@bonsai-agent/models/scripted";
import { openSession } from "@bonsai-agent/session";
import { describe, expect, test } from "vitest";
import { modelSummary } from "../call/model-summary.ts";
import { header, sampleLines, writeLines } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";

const summary = modelSummary("- the branch that was left");

/** A branch of the sample, by ids. */
const root = "aaaa0001";
const oldLeaf = "cccc0007";

async function openSample(
  lines: readonly object[] = sampleLines(),
  options: Parameters<typeof openInteractive>[0] = {},
) {
  const file = writeLines(lines);
  const scenario: Scenario = {
    contextWindow: 100_000,
    turn: [{ text: "Good." }],
    summary: [{ text: summary }],
    atEnd: "repeat",
  };
  const opened = openInteractive({ columns: 80, rows: 32, scenario, argv: ["--session", file], ...options });
  const { terminal } = opened;
  await terminal.until(/Done: the total|the only answer/);
  return {
    ...opened,
    session: () => openSession(file),
    /** Opens the tree, searches for an entry and chooses it. */
    async choose(search: string) {
      terminal.type("/tree\n");
      await terminal.until("Session tree");
      terminal.type(search);
      await terminal.until(/1\/1$/m);
      terminal.press("enter");
    },
    /** Asks what can be done with the selected entry, and chooses it. */
    async act(choice: number) {
      terminal.press("ctrl+a");
      await terminal.until("Choose an action");
      for (let down = 0; down < choice; down += 1) terminal.press("down");
      terminal.press("enter");
    },
    async question(answer: number) {
      await terminal.until("Choose an action");
      for (let down = 0; down < answer; down += 1) terminal.press("down");
      terminal.press("enter");
    },
  };
}

/** From the title to the rule. */
function panelOf(screen: string): string {
  const lines = screen.split("\n");
  const first = lines.findIndex((line) => line.includes("Session tree"));
  const end = lines.findIndex((line, at) => at > first && /^─+$/.test(line));
  return lines.slice(first, end).join("\n");
}

describe("the panel", () => {
  test("shows the whole tree, the active branch first, and where one is", async () => {
    const { terminal } = await openSample();
    terminal.type("/tree\n");
    expect(panelOf(await terminal.until("Esc leave"))).toMatchInlineSnapshot(`
      " Session tree  default · 11/13
       › type to search
        ▾● user       Make the totals right. ␛[31mred␛[0m␇ and 日本語のテ…   16 hours
         ● assistant  I will read the code. → read src/total.ts               16 hours
         ● result     read src/total.ts: export const total = 1;              16 hours
         ● assistant  The total is a constant.                                16 hours
        ├─▾● branch     A cache was tried: no use.                            16 hours
        │  ● user       Then compute it. Never use floats for money.          16 hours
        │  ● assistant  edit src/total.ts                                     16 hours
        │  ● result     failed edit src/total.ts: no match                    16 hours
        │  ● compaction of 12,345 tokens Goal: Make the totals right. Next…   16 hours
        │  ● user       go on                                                 16 hours
      › │  ◉ assistant  Done: the total is computed.                 ◀ here   16 hours
        ╰─▾○ user       [dead end] Try a cache                                16 hours
           ○ assistant  A cache makes it worse.                               16 hours
       Enter go there · ←→ fold · Tab filter · Ctrl-L label · Ctrl-A menu
       Ctrl-X mark · Esc leave"
    `);
  });

  test("folds, filters and fits 40 columns of a short terminal", async () => {
    const { terminal } = await openSample(sampleLines(), { columns: 40, rows: 16 });
    // What was notified while the session was being opened leaves space for the chat: it stands there once.
    expect(terminal.scrollback().match(/started in/g)).toHaveLength(1);
    terminal.type("/tree\n");
    await terminal.until("Esc leave");
    terminal.press("left", "left");
    expect(panelOf(await terminal.until("▸"))).toMatchInlineSnapshot(`
      " Session tree  default · 5/7
       › type to search
        ▾● user Make the totals right. ␛[31mr…
         ● assistant I will read the code. → …
         ● result read src/total.ts: export c…
         ● assistant The total is a constant.
      › ├─▸● branch A cache was tried: no … +6
        ╰─▾○ user [dead end] Try a cache
           ○ assistant A cache makes it worse.
       Enter go there · ←→ fold · Tab filter
       Ctrl-L label · Ctrl-A menu
       Ctrl-X mark · Esc leave"
    `);
    terminal.press("tab", "ctrl+f");
    expect(panelOf(await terminal.until("user only"))).toMatchInlineSnapshot(`
      " Session tree  user only · 1/4
       › type to search
      › ▾● user Make the totals right. ␛[31mr…
        ├─▾● user Then compute it. Never use …
        │  ◉ user go on                 ◀ here
        ╰─ ○ user [dead end] Try a cache



       Enter go there · ←→ fold · Tab filter
       Ctrl-L label · Ctrl-A menu
       Ctrl-X mark · Esc leave"
    `);
  });

  test("acceptance 36: Esc clears the search first, then leaves", async () => {
    const { terminal } = await openSample();
    terminal.type("/tree\n");
    await terminal.until("11/13");
    terminal.type("cache user");
    await terminal.until(/1\/1$/m);
    terminal.press("esc");
    await terminal.until("11/13");
    terminal.press("esc");
    await terminal.until((screen) => !screen.includes("Session tree"));
  });

  test("the menu compacts everything before an entry, and offers the nearest legal entry", async () => {
    const { terminal, session, act } = await openSample();
    terminal.type("/tree\n");
    await terminal.until("Esc leave");
    terminal.press("up", "up");
    await act(3);
    await terminal.until("It is not a message in the model's context.");
    terminal.press("esc");
    await terminal.until("Session tree");
    terminal.press("up");
    await act(3);
    await terminal.until("It is a tool result");
    terminal.press("y", "enter");
    await terminal.until("Compacted: ");
    const [, first, second] = session().projection().items;
    expect([first, second].map((item) => item?.message.role)).toEqual(["assistant", "toolResult"]);
  });

  test("the menu labels an entry, and goes back with a summary with a focus", async () => {
    const { terminal, session, act } = await openSample();
    terminal.type("/tree\n");
    await terminal.until("Esc leave");
    await act(3);
    await terminal.until("Label for this entry");
    terminal.type("the end\n");
    await terminal.until("[the end]");
    terminal.press("up", "up", "up", "up");
    await act(2);
    await terminal.until("What should the summary focus on?");
    terminal.type("the money\n");
    await terminal.until((screen) => !screen.includes("Session tree"));
    await terminal.until(/edit src[\s\S]*\[branch summary\]/);
    expect(session().entry(session().leafId!)).toMatchObject({ type: "branch_summary" });
  });

  test("a label is given in the tree, and found there", async () => {
    const { terminal, session } = await openSample();
    terminal.type("/tree\n");
    await terminal.until("Esc leave");
    terminal.press("ctrl+l");
    await terminal.until("Label for this entry");
    terminal.type("the end\n");
    await terminal.until("[the end]");
    expect(session().label(oldLeaf)).toBe("the end");
    terminal.type("assistant the end");
    await terminal.until(/default · 1\/1$/m);
  });
});

test("what stands deep inside of a message is found, and stays found when it gets a label", async () => {
  const deep = `the only answer: ${"so much more ".repeat(40)} the needle`;
  const { terminal } = await openSample([header, user("u1", null, "only"), answer("a1", "u1", deep)]);
  terminal.type("/tree\n");
  await terminal.until("Esc leave");
  terminal.type("needle");
  await terminal.until(/default · 1\/1\n.*\n.*…[a-z ]*the needle/);
  terminal.press("ctrl+l");
  await terminal.until("Label for this entry");
  terminal.type("found\n");
  await terminal.until(/\[found\] …[a-z ]*the needle/);
});

describe("acceptance 33: where one goes", () => {
  test("a user message: the leaf is its parent, its text is in the editor", async () => {
    const { terminal, choose, question, session } = await openSample();
    await choose("try a cache");
    await question(0);
    const screen = await terminal.until(
      (seen) => /Try a cache/.test(seen) && !seen.includes("Choose an action"),
    );
    expect(screen).toContain("The total is a constant.");
    expect(screen).not.toContain("Done: the total");
    expect(session().leafId).toBe("aaaa0004");
  });

  test("a root message: the context is empty", async () => {
    const { terminal, choose, question, session } = await openSample();
    await choose("make the totals user");
    await question(0);
    await terminal.until(
      (seen) => seen.includes("Make the totals right.") && !seen.includes("Choose an action"),
    );
    expect(session().leafId).toBeNull();
    expect(session().projection().items).toEqual([]);
    expect(session().entry(root)).toBeDefined();
  });

  test("an answer: it is the leaf", async () => {
    const { terminal, choose, question, session } = await openSample();
    await choose("makes it worse");
    await question(0);
    await terminal.until(
      (seen) => seen.includes("A cache makes it worse.") && !seen.includes("Choose an action"),
    );
    expect(session().leafId).toBe("bbbb0002");
  });
});

describe("acceptance 34: the summary of the branch", () => {
  test("it hangs on the new leaf and names the old one", async () => {
    const { terminal, choose, question, session } = await openSample();
    await choose("makes it worse");
    await question(1);
    await terminal.until(
      (seen) => seen.includes("A cache makes it worse.") && !seen.includes("Choose an action"),
    );
    const entry = session().entries().at(-1);
    expect(entry).toMatchObject({ type: "branch_summary", parentId: "bbbb0002", fromId: oldLeaf });
    expect(session().leafId).toBe(entry?.id);
  });

  test("with a focus, the model is asked what to focus on; Esc at the focus leads back", async () => {
    const { terminal, choose, question, session } = await openSample();
    await choose("makes it worse");
    await question(2);
    await terminal.until("focus on");
    terminal.press("esc");
    await question(2);
    await terminal.until("focus on");
    terminal.type("the edit\n");
    await terminal.until((seen) => seen.includes("A cache makes it worse.") && !seen.includes("focus on"));
    expect(session().entries().at(-1)?.type).toBe("branch_summary");
  });

  test("a branch of notes alone is left without a menu and without an entry", async () => {
    const first = [user("u1", null, "only"), answer("a1", "u1", "the only answer")];
    const second = [user("u2", "a1", "more"), answer("a2", "u2", "Done: the total")];
    const name = { id: "n1", parentId: "a2", timestamp: at, type: "session_info", name: "x" };
    const { terminal, choose, session } = await openSample([header, ...first, ...second, name]);
    await choose("done: the");
    await terminal.until("already there");
    expect(session().leafId).toBe("n1");
    expect(session().entries()).toHaveLength(5);
  });

  test("Esc in the menu leads back to the same entry of the tree", async () => {
    const { terminal, choose } = await openSample();
    await choose("makes it worse");
    await terminal.until("Choose an action");
    terminal.press("esc");
    await terminal.until(/default · 1\/1$/m);
  });

  test("Ctrl-C in the menu, and at the focus, leaves the tree too", async () => {
    const { terminal, choose, question } = await openSample();
    for (const atFocus of [false, true]) {
      await choose("A cache makes");
      if (atFocus) {
        await question(2);
        await terminal.until("focus on");
      } else await terminal.until("Choose an action");
      terminal.press("ctrl+c");
      const screen = await terminal.until((text) => !/focus on|Choose an action/.test(text));
      expect(screen).not.toContain("Session tree");
      terminal.type("x");
      await terminal.until(/x\s*\n─/);
      terminal.press("backspace");
    }
  });

  test("Esc cancels the summary, and nothing has changed", async () => {
    const scenario: Scenario = {
      contextWindow: 100_000,
      turn: [{ text: "Good." }],
      summary: [{ text: summary, delayMs: 600_000 }],
      atEnd: "repeat",
    };
    const { terminal, choose, question, session } = await openSample(sampleLines(), { scenario });
    const before = session().entries().length;
    await choose("makes it worse");
    await question(1);
    await terminal.until("Summarising the branch… (Esc to cancel)");
    terminal.type("typed meanwhile");
    terminal.press("esc");
    const screen = await terminal.until("Your position is unchanged");
    expect(screen).toContain("typed meanwhile");
    expect([session().leafId, session().entries().length]).toEqual([oldLeaf, before]);
  });

  test("a failed summary is reported once and changes nothing; the menu then offers the digest", async () => {
    const scenario: Scenario = { contextWindow: 100_000, turn: [{ text: "Good." }] };
    const { terminal, choose, question, session } = await openSample(sampleLines(), { scenario });
    await choose("makes it worse");
    await question(1);
    const screen = await terminal.until(
      (seen) => seen.includes("branch_summary_failed") && seen.includes("summarise with the built-in digest"),
    );
    expect(screen).toContain("nothing changed");
    expect(screen).not.toContain("position is unchanged");
    expect(session().leafId).toBe(oldLeaf);
    await question(3);
    const moved = await terminal.until(
      (seen) => !seen.includes("Choose an action") && seen.includes("makes it worse"),
    );
    // What failed before is no longer so.
    expect(moved).not.toContain("nothing changed");
    expect(session().entries().at(-1)).toMatchObject({ type: "branch_summary", fromId: oldLeaf });
  });
});

const at = "2026-11-20T09:00:00.000Z";

function user(id: string, parentId: string | null, content: string): object {
  return { id, parentId, timestamp: at, type: "message", message: { role: "user", content, timestamp: 0 } };
}

function answer(id: string, parentId: string, text: string): object {
  const { message } = sampleLines().find((line) => (line as { id?: string }).id === oldLeaf) as {
    message: object;
  };
  return {
    ...{ id, parentId, timestamp: at, type: "message" },
    message: { ...message, content: [{ type: "text", text }] },
  };
}
