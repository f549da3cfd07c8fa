import { createSession, type EntryDraftWithId, type Session } from "@bonsai-agent/session";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import {
  type CompactionResult,
  compactionSettings,
  navigateTree,
  planCompaction,
  readContext,
  runCompaction,
} from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({
  keepRecentTokens: 200,
  mask: { protectTokens: 2_000, minimumTokens: 500 },
});
const model = { contextWindow: 60_000 };
const reasons = ["manual", "threshold", "overflow"] as const;

function drafted(...messages: object[]): Session {
  const session = createSession({ cwd: "/project" });
  session.append(messages.map((message) => ({ type: "message", message })) as unknown as EntryDraftWithId[]);
  return session;
}

const long = "All work and no play. ".repeat(200);

/** Sessions that no well-behaved agent writes, and some that it does. */
const shapes: Array<[string, () => Session]> = [
  ["nothing at all", () => createSession({ cwd: "/project" })],
  ["only tool results", () => history("T1:900 T2:900 T3:900").session],
  ["orphan results among turns", () => history("U:900 A T7:900 T8:900 U:50 A T9:300 A:300").session],
  ["calls without results", () => history("U:900 A(t1 t2):900 U:50 A(t3) U:300 A:300").session],
  ["only aborted answers", () => history("A~aborted:900 A~aborted:900 A~aborted:900").session],
  ["failed answers only", () => history("U:900 A~error A~error A~error").session],
  ["images alone", () => history('U""*9 A U""*9 A U""*9').session],
  ["metadata alone", () => history("m k i l p").session],
  ["commands and notes", () => history("B:900 X:900 B:900! X:900 B:100 X:300").session],
  ["branch summaries in the span", () => history("S:900 U:900 A S:900 U:100 A:300").session],
  [
    "a change of model in the middle",
    () => history("m(a) U:900 A@4000 mother U:900 A@9000 U:100 A:300").session,
  ],
  ["a paste above the window", () => history("U:80000 A:10 | U:100 A:300").session],
  ["a summary that keeps nothing", () => history("U:900 A C() U:900 A U:100 A:300").session],
  [
    "a former summary larger than the span",
    () => history(`U A C(u1)"${long}${long}" A:300 U:100 A:300`).session,
  ],
  [
    "compactions undone and redone",
    () => history("U:900 A U:900 A C(u2) Z(c1) U:90 A C(u3) U:900 A:300").session,
  ],
  [
    "messages without content",
    () =>
      drafted(
        { role: "user" },
        { role: "assistant" },
        { role: "toolResult" },
        { role: "user", content: long },
      ),
  ],
  [
    "contents that are no contents",
    () =>
      drafted(
        { role: "user", content: [null, 7, { type: "text" }, { type: "image" }, "x"] },
        {
          role: "assistant",
          content: [{ type: "toolCall", id: 1, name: null, arguments: null }],
          stopReason: "stop",
        },
        { role: "toolResult", content: null, toolCallId: 1 },
        { role: "bashExecution" },
        { role: "somebody", content: long },
        { role: "user", content: long },
        { role: "assistant", content: [{ type: "text", text: long }], usage: { input: "many" } },
      ),
  ],
  [
    "entries with damaged fields",
    () => {
      const { session } = history("U:900 A");
      session.append([
        { type: "branch_summary", summary: 7, fromId: "root" },
        { type: "custom_message", customType: 7, content: null },
        {
          type: "compaction",
          summary: "",
          firstKeptEntryId: "nowhere",
          details: { readFiles: 7, manifest: "x" },
        },
        { type: "context_edit", targetId: "nowhere" },
      ] as unknown as EntryDraftWithId[]);
      return history("U:900 A:300", session).session;
    },
  ],
];

const endings = ["compacted", "masked", "nothing-to-compact", "already-compacted", "failed"];

test("an odd session gives a clear result for every reason and summariser, and loses nothing", () =>
  everyRow(shapes)(async ([, make]) => {
    for (const reason of reasons) {
      for (const summariser of [undefined, scriptedSummariser()]) {
        const session = make();
        const before = shownIds(session);
        const plan = planCompaction({ session, settings, model, reason });
        expect([...endings, "planned"]).toContain(plan.status);
        const options = { session, settings, model, reason, ...(summariser && { summariser }) };
        const result = await runCompaction(options);
        expect(endings).toContain(result.status);
        // Never by an accident of the code.
        expect(result.error?.message ?? "").not.toMatch(/undefined|not a function|not iterable|Cannot read/);
        expect(result.failures.map(({ message }) => message).join()).not.toMatch(
          /not a function|Cannot read/,
        );
        expect(covered(result)).toEqual(before);
        if (result.status === "compacted" || result.status === "masked") consistent(session, result);
        expect(Number.isFinite(readContext({ session, estimator: settings.estimator }).tokens)).toBe(true);
      }
    }
  }));

function shownIds(session: Session): string[] {
  const items = session.projection().items.filter((item) => item.message.role !== "compactionSummary");
  return items.map((item) => item.entryId);
}

function covered(result: CompactionResult): string[] {
  return [...result.summarizedEntryIds, ...result.turnPrefixEntryIds, ...result.keptEntryIds];
}

/** A reader finds the entries and the tokens that the result names. */
function consistent(session: Session, result: CompactionResult): void {
  expect(shownIds(session)).toEqual(result.keptEntryIds);
  expect(readContext({ session, estimator: settings.estimator }).tokens).toBe(result.tokensAfter);
}

test("an odd session can be left for its root with a summary", () =>
  everyRow(shapes)(async ([, make]) => {
    const session = make();
    const [first] = session.entries();
    const targetId = first?.id ?? "";
    const summariser = scriptedSummariser();
    const move = navigateTree({ session, targetId, settings, model, summarise: true, summariser });
    if (first === undefined)
      await expect(move).rejects.toThrow(expect.objectContaining({ code: "tree_target_unknown" }));
    else expect(["moved", "unchanged"]).toContain((await move).status);
  }));

test("files that pi's compactions list are kept, from their details or else from their text", async () => {
  const text =
    "## Goal\nGo\n\n<read-files>\nr.ts\n</read-files>\n\n<modified-files>\nm.ts\n</modified-files>";
  for (const details of [{ readFiles: ["r.ts"], modifiedFiles: ["m.ts"] }, undefined]) {
    const { session, id } = history("U:900 A | U:9 A");
    const compaction = {
      type: "compaction" as const,
      firstKeptEntryId: id("u2"),
      tokensBefore: 900,
      summary: text,
    };
    session.append({ ...compaction, ...(details && { details }) });
    history("A:5000 U:100 A:300", session);
    const result = await runCompaction({ session, settings, model, summariser: scriptedSummariser() });
    expect(result).toMatchObject({ status: "compacted", readFiles: ["r.ts"], modifiedFiles: ["m.ts"] });
    expect(result.summary?.match(/<read-files>/g)).toHaveLength(1);
  }
});

test("several compactions with undoing between lose nothing", async () => {
  const { session } = history("U:900 A:900 | U:900 A:900 | U:100 A:100");
  const all = shownIds(session);
  for (let round = 0; round < 3; round++) {
    const { status, entryId } = await runCompaction({ session, settings, model });
    expect(status).toBe("compacted");
    session.undoCompaction(entryId ?? "");
    expect(shownIds(session)).toEqual(all);
  }
  const kept = await runCompaction({ session, settings, model });
  history("U:900 A:900 | U:100 A:100", session);
  const later = await runCompaction({ session, settings, model });
  expect(later.entry?.details).toMatchObject({ manifest: { previousCompactionId: kept.entryId } });
  session.undoCompaction(later.entryId ?? "");
  expect(session.projection().compaction?.id).toBe(kept.entryId);
});
