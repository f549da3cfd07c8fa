import type { Scenario } from "@bonsai-agent/models/scripted";
import { openSession } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { modelSummary } from "../call/model-summary.ts";
import { sampleLines, writeLines } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";

const [deadEnd, here] = ["bbbb0002", "cccc0007"];

/** The sample, whose path has a summary of the other branch already; that branch went on since. */
async function openSample({ columns = 120, isSummarised = true } = {}) {
  const file = writeLines(sampleLines());
  const made = openSession(file);
  const message = { role: "user" as const, content: "Try a ledger", timestamp: 1 };
  const { id: end } = made.append({ type: "message", message }, { under: deadEnd });
  made.moveTo(here);
  made.close();
  const scenario: Scenario = {
    contextWindow: 100_000,
    turn: [{ text: "Good." }],
    ...(isSummarised && { summary: [{ text: modelSummary("- a ledger") }] }),
  };
  const opened = openInteractive({ columns, rows: 40, scenario, argv: ["--session", file] });
  await opened.terminal.until("Done: the total");
  return { ...opened, end, session: () => openSession(file) };
}

test("/merge brings a branch that is picked in the tree, and a second time nothing", async () => {
  const { terminal, end, session } = await openSample();
  terminal.type("/merge\n");
  await terminal.until("Merge which branch? Choose its last entry.");
  terminal.type("ledger");
  await terminal.until(/1\/1$/m);
  terminal.press("enter");
  await terminal.until("replaces 1 entry.");
  const { leafId } = session();
  expect(session().entry(leafId!)).toMatchObject({ type: "branch_summary", parentId: here, fromId: end });
  terminal.type(`/merge ${end}\n`);
  await terminal.until("Nothing to merge: ");
  expect(session().leafId).toBe(leafId);
});

test("/merge refuses the current path and unknown entries, and accepts a label", async () => {
  const { terminal, session } = await openSample();
  terminal.type("/merge aaaa0004\n");
  await terminal.until("merge_own_path");
  terminal.type("/merge dead end the cache\n");
  await terminal.until("branch that ends at bbbb0001");
  terminal.type("/merge nosuch\n");
  await terminal.until("entry_not_found");
  expect(session().leafId).toBe(here);
});

test("a merge whose summary fails offers the digest", async () => {
  const { terminal, end, session } = await openSample({ isSummarised: false });
  terminal.type(`/merge ${end}\n`);
  await terminal.until("Merge with the built-in digest?");
  expect(session().leafId).toBe(here);
  terminal.type("y");
  await terminal.until("replaces 1 entry.");
  expect(session().entry(session().leafId!)).toMatchObject({ parentId: here, fromId: end });
});

test("the tree compares an entry with the current position", async () => {
  const { terminal } = await openSample({ columns: 130 });
  terminal.type("/tree\n");
  await terminal.until("Session tree");
  terminal.type("ledger");
  await terminal.until(/1\/1$/m);
  terminal.press("ctrl+d");
  const report = await terminal.until("A and B split after aaaa0004");
  expect(report).toMatch(/B {2}cccc0007/);
  terminal.press("esc");
  await terminal.until("Ctrl-D diff");
});
