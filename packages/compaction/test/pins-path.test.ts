import { createSession, openSession } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { navigateTree, pinnedTexts, runCompaction } from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { compact, goOn, pin, RULE, said, seen, settings, unpin } from "./pinned-session.ts";

test("taking a compaction back shows its pins as they were said", async () => {
  const { session } = history("U:900 A:900 | U:100 A:100");
  pin(session, RULE);
  const { entryId = "" } = await compact(session);
  session.undoCompaction(entryId);
  expect(seen(session, RULE)).toBe(1);
  expect(pinnedTexts(session)).toEqual([RULE]);
  goOn(session);
  expect((await compact(session)).summary).toContain(RULE);
  expect(seen(session, RULE)).toBe(1);
});

test("a pin belongs to its path, and going to it leaves it there", async () => {
  const { session } = history("U:900 A:900 | U:100 A:100");
  const before = session.leafId!;
  const at = pin(session, RULE);
  history("U:100 A:100", session);
  await navigateTree({ session, settings, targetId: before, summarise: true });
  expect(pinnedTexts(session)).toEqual([]);
  expect(seen(session, RULE)).toBe(0);
  goOn(session);
  await compact(session);
  expect(seen(session, RULE)).toBe(0);
  const moved = await navigateTree({ session, settings, targetId: at });
  expect(moved).toMatchObject({ leafId: at });
  expect(pinnedTexts(session)).toEqual([RULE]);
  expect(seen(session, RULE)).toBe(1);
});

test("a branch that has only pins has nothing to summarise", async () => {
  const { session } = history("U:900 A:900 | U:100 A:100");
  const before = session.leafId!;
  pin(session, RULE);
  const moved = await navigateTree({ session, settings, targetId: before, summarise: true });
  expect(moved).toMatchObject({ status: "moved", leafId: before });
  expect(moved.summaryEntry).toBeUndefined();
});

test("a session that is opened again has its pins, also behind several compactions", async () => {
  const session = createSession({ cwd: "/project" });
  goOn(session);
  pin(session, RULE);
  goOn(session);
  await compact(session);
  goOn(session);
  await compact(session);
  const again = openSession({ store: session.store });
  expect(pinnedTexts(again)).toEqual([RULE]);
  expect(again.projection()).toEqual(session.projection());
  expect(seen(again, RULE)).toBe(1);
});

test("an extension's own summary carries what is pinned, and the next one goes on from there", async () => {
  const { session, id } = history("U:900 A:900 | U:100 A:100");
  pin(session, RULE);
  pin(session, "Quote it.");
  const own = { summary: "Theirs.\nQuote it.\nThat was all.", firstKeptEntryId: id("u2"), tokensBefore: 1 };
  const lifecycle = compactionLifecycle();
  lifecycle.on("session_before_compact", () => ({ compaction: { ...own, details: "theirs" } }));
  const { summary } = await runCompaction({ session, settings, lifecycle });
  expect(summary).toContain(`That was all.\n\n## Kept word for word\n\n<pinned>\n${RULE}\n</pinned>`);
  expect([seen(session, RULE), seen(session, "Quote it.")]).toEqual([1, 1]);
  unpin(session, "Quote it.");
  goOn(session);
  const next = await compact(session);
  expect(next.summary).toContain(`<pinned>\n${RULE}\n</pinned>`);
});

test("a compaction of another program does not lose a pin", async () => {
  const { session, id } = history("U:900 A:900 | U:100 A:100");
  pin(session, RULE);
  session.append({
    ...{ type: "compaction", summary: "Theirs.", firstKeptEntryId: id("u2"), tokensBefore: 1 },
    details: { readFiles: [], modifiedFiles: [] },
  });
  expect(seen(session, RULE)).toBe(1);
  goOn(session);
  await compact(session);
  expect(seen(session, RULE)).toBe(1);
});

test("going back to a summary that holds what was unpinned since: the model is told again", async () => {
  const { session } = history("U:900 A:900 | U:100 A:100");
  pin(session, RULE);
  await compact(session);
  goOn(session);
  unpin(session, RULE);
  goOn(session);
  const { entryId = "" } = await compact(session);
  expect(seen(session, RULE)).toBe(0);
  session.undoCompaction(entryId);
  expect(pinnedTexts(session)).toEqual([]);
  const told = session.projection().items.map((item) => said(item.message));
  expect(told.filter((text) => /no longer applies:\n\nNever push/.test(text))).toHaveLength(1);
});
