import type { Scenario } from "@bonsai-agent/models/scripted";
import { describe, expect, test } from "vitest";
import { header, sampleLines } from "../call/sample-session.ts";
import { answer, at, oldLeaf, openSample, summary, user } from "./tree-panel-setup.ts";

describe("acceptance 33: going to an entry", () => {
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
    expect(session().entry("aaaa0001")).toBeDefined();
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

  test("Esc in the menu leads back to the entry; Ctrl-C there and at the focus leaves the tree", async () => {
    const { terminal, choose, question } = await openSample();
    await choose("makes it worse");
    await terminal.until("Choose an action");
    terminal.press("esc");
    await terminal.until(/default · 1\/1$/m);
    terminal.press("esc", "esc");
    await terminal.until((screen) => !screen.includes("Session tree"));
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
    expect(moved).not.toContain("nothing changed");
    expect(session().entries().at(-1)).toMatchObject({ type: "branch_summary", fromId: oldLeaf });
  });
});
