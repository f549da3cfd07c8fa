import { pinChange, project, type Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { pinnedTexts } from "../src/index.ts";
import { ownManifest, SOON, settled, type Working, working } from "./background-work.ts";

/** The latest compaction with places instead of ids, without the parts that say how it was made. */
function compactionOf({ session }: Working): unknown {
  const entry = session.path().findLast(({ type }) => type === "compaction");
  if (entry?.type !== "compaction") return undefined;
  const { summary, details, firstKeptEntryId } = entry;
  const { manifest, ...carried } = details as { manifest: Record<string, unknown> };
  const { summarised, turnPrefix, kept, splitTurn, loss } = manifest;
  const text = JSON.stringify({
    summary,
    firstKeptEntryId,
    carried,
    summarised,
    turnPrefix,
    kept,
    splitTurn,
    loss,
  });
  const ids = session.entries().map(({ id }) => id);
  return JSON.parse(text.replaceAll(new RegExp(ids.join("|"), "g"), (id) => `entry ${ids.indexOf(id)}`));
}

test("law: a summary made in the background equals one made at once for the same entries", async () => {
  let compared = 0;
  const spoken = fc.constantFrom(
    "U A",
    "U:300 A:40",
    "U A(t1) T1:400 A",
    "U A(t1=edit:a.ts) T1 A",
    'P"Never push."',
  );
  const law = fc.asyncProperty(
    fc.array(spoken, { maxLength: 6 }),
    fc.array(spoken, { maxLength: 4 }),
    async (before, later) => {
      const notation = [...before, SOON].join(" ");
      const ahead = working({ notation });
      await ahead.check();
      await settled();
      if (ahead.summariser.asked.length === 0) return;
      const since = later.filter((each) => !each.startsWith("P")).join(" ");
      if (since !== "") history(since, ahead.session);
      ahead.summariser.answer();
      await settled();
      await ahead.check();
      const cut = ahead.session.projection().compaction?.firstKeptEntryId;
      const atOnce = working({ notation, settings: { background: false } });
      if (since !== "") history(since, atOnce.session);
      const firstKeptEntryId = atOnce.id(ahead.name(cut!));
      const made = atOnce.controller.compact({ firstKeptEntryId });
      await settled();
      atOnce.summariser.answer();
      expect((await made).status).toBe("compacted");
      expect(compactionOf(ahead)).toEqual(compactionOf(atOnce));
      compared += 1;
    },
  );
  await fc.assert(law);
  expect(compared).toBeGreaterThan(5);
});

function idsInView(session: Session, leafId = session.leafId): string[] {
  return session.projection(leafId).items.map(({ entryId }) => entryId);
}

/** Steps of a day, in any order: what is said, changed and moved, looks at the threshold, and answers that come. */
const steps = [
  ...["U A", "U:1000 A:10", "U:3000 A:10", "U A(t1) T1:700 A", 'P"Never push."', 'Q"Never push."'],
  ...["M(%1)", "E(%2)", "Z(%0)", "Y(%0)", "^%1", "^%5", "^%9", "S"],
  ...["check", "check", "check", "answer", "answer", "fail", "digest", "model"],
] as const;

test("Invariant: whatever happens between, a compaction's view is its summary and an end of what was in view, nothing is lost", async () => {
  let written = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...steps), { minLength: 6, maxLength: 16 }), async (day) => {
      const { session, summariser, controller, check, lifecycle } = working();
      let pinned = "";
      const broken: unknown[] = [];
      lifecycle.on("session_compact", ({ compactionEntry }) => {
        if (ownManifest(compactionEntry)?.isBackground !== true) return;
        written += 1;
        const view = idsInView(session, compactionEntry.parentId);
        const [summary, ...kept] = idsInView(session);
        // The summary contains the earlier pins.
        const isUserMessage = (id: string) => pinChange(session.entry(id)!) === undefined;
        const end = view.slice(view.indexOf(kept[0]!)).filter(isUserMessage).join();
        const isWhole = kept.filter(isUserMessage).join() === end && pinnedTexts(session).join() === pinned;
        if (summary !== compactionEntry.id || !isWhole) broken.push([summary, kept, view]);
      });
      const known = new Set<string>();
      for (const step of ["check", ...day, "answer", "check"]) {
        if (step === "check") void check();
        else if (step === "answer") summariser.answer();
        else if (step === "fail") summariser.answer({ stopReason: "error", errorMessage: "down" });
        else if (step === "digest") void controller.compact({ useDigest: true });
        else if (step === "model") controller.modelChanged();
        else history(step, session);
        for (const id of idsInView(session)) known.add(id);
        pinned = pinnedTexts(session).join();
        await settled();
      }
      summariser.answer();
      await settled();
      expect(broken).toEqual([]);
      expect(idsInView(session)).toEqual(project(session.path()).items.map(({ entryId }) => entryId));
      const ids = new Set(session.entries().map(({ id }) => id));
      expect([...known].filter((id) => !ids.has(id))).toEqual([]);
    }),
  );
  // Else nothing of this was tested.
  expect(written).toBeGreaterThan(0);
});
