import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userContent } from "@bonsai-agent/messages/host";
import { createSession, openSession, project, type Session } from "@bonsai-agent/session";
import { everyRow, history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compactionSettings, mergeBranch, navigateTree, runCompaction } from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({}, { estimator: "chars4" });
const folder = mkdtempSync(join(tmpdir(), "bonsai-merge-"));

const lifecycleOfTree = () => compactionLifecycle();

/** Merges, and returns the names of the entries that were summarised. */
async function merged({ session, name }: ReturnType<typeof history>, branchId: string): Promise<string> {
  const { status, entryIds } = await mergeBranch({ session, branchId, settings });
  return `${status}: ${entryIds.map(name).join(" ")}`.trim();
}

describe("a merge", () => {
  test("brings a branch as a summary under the leaf, and moves nowhere else", async () => {
    const made = history('U A | U"try the cache" A(t1=edit:a.ts) T1 A ^a1 U A');
    const { session, id } = made;
    const summariser = scriptedSummariser();
    const leafId = session.leafId;
    const merge = { session, branchId: id("a3"), settings, summariser, focus: "the cache" };
    const { summaryEntry, ...rest } = await mergeBranch(merge);
    expect(summaryEntry).toMatchObject({ type: "branch_summary", parentId: leafId, fromId: id("a3") });
    expect(rest).toEqual({
      status: "merged",
      leafId: summaryEntry!.id,
      previousLeafId: leafId,
      branchId: id("a3"),
      entryIds: ["u2", "a2", "t1", "a3"].map(id),
      detail: expect.stringContaining(`summary ${summaryEntry!.id} replaces 4 entries`),
    });
    expect(session.leafId).toBe(summaryEntry!.id);
    expect(summariser.requests).toHaveLength(1);
    expect(summariser.requests[0]).toMatchObject({ kind: "branch", focus: "the cache" });
    expect(summariser.requests[0]!.messages).toHaveLength(4);
    expect(summaryEntry!.details).toMatchObject({ modifiedFiles: ["a.ts"] });
  });

  test("keeps an entry that another part of the program wrote during the summary on the path", async () => {
    const { session, id } = history("U A | U A ^a1 U A");
    const summariser = scriptedSummariser([
      () => {
        session.append({ type: "session_info", name: "prices" });
        return {};
      },
    ]);
    const { summaryEntry } = await mergeBranch({ session, branchId: id("a2"), settings, summariser });
    const named = session.entries().find(({ type }) => type === "session_info");
    expect(summaryEntry).toMatchObject({ parentId: named!.id });
    expect(session.leafId).toBe(summaryEntry!.id);
  });

  test("is told to the model as one, the same when the file is opened again; a branch that was left as left", async () => {
    const file = join(folder, "told.jsonl");
    const made = history('U A | U"try the cache" A ^a1 U A', createSession({ cwd: "/work", file }));
    const { session, id } = made;
    const merge = { session, branchId: id("a2"), settings };
    expect((await mergeBranch(merge)).summaryEntry).toMatchObject({ isMerge: true });
    await navigateTree({ session, targetId: id("a2"), summarise: true, settings });
    const told = (of: Session) =>
      of
        .entries()
        .filter((entry) => entry.type === "branch_summary")
        .map((entry) => userContent(project([entry]).items[0]!.message));
    const [merged, left] = told(session).map(([block]) => (block as { text: string }).text);
    expect(merged).toMatch(/^\[Record of a line of work from another branch, merged into the current one\./);
    expect(left).toMatch(/^\[Record of a line of work that was abandoned/);
    expect(`${merged}${left}`.match(/\[Record of/g)).toHaveLength(2);
    expect(told(openSession(file))).toEqual(told(session));
  });

  test.each([
    ["a branch from the beginning on", "U A ^0 U A", "a1", "merged: u1 a1"],
    ["into the place before every entry", "U A ^0", "a1", "merged: u1 a1"],
    ["what comes after the leaf", "U A U A ^a1", "a2", "merged: u2 a2"],
    ["up to an entry in the middle of a branch", "U A | U A U A ^a1 U A", "a2", "merged: u2 a2"],
    ["a branch of notes alone", "U A | m k l p ^a1 U A", "p1", "unchanged: m1 k1 l1 p1"],
    ["a compacted branch by its own entries", "U A | U A C(u2) U A ^a1 U", "a3", "merged: u2 a2 u3 a3"],
  ])("takes %s", async (_, notation, branch, expected) => {
    const made = history(notation);
    expect(await merged(made, made.id(branch))).toBe(expected);
  });

  test("refuses to merge the current line", () =>
    everyRow([
      ["the leaf", "U A U A", "a2"],
      ["an entry above it", "U A U A", "a1"],
    ])(async ([, notation, branch]) => {
      const { session, id } = history(notation);
      const before = JSON.stringify(session.entries());
      const merge = mergeBranch({ session, branchId: id(branch), settings });
      await expect(merge).rejects.toThrow(expect.objectContaining({ code: "merge_own_path" }));
      expect(JSON.stringify(session.entries())).toBe(before);
    }));

  test("a merge of an unknown entry is refused", async () => {
    const merge = mergeBranch({ session: history("U A").session, branchId: "nowhere", settings });
    await expect(merge).rejects.toThrow(expect.objectContaining({ code: "tree_target_unknown" }));
  });
});

describe("a second merge", () => {
  const parted = "U A | U A ^a1 U A";

  test("brings nothing, names the first, and writes nothing", async () => {
    const made = history(parted);
    const { session, id } = made;
    const first = await mergeBranch({ session, branchId: id("a2"), settings });
    const before = JSON.stringify(session.entries());
    for (const branch of ["a2", "u2"]) {
      const again = await mergeBranch({ session, branchId: id(branch), settings });
      expect(again).toMatchObject({ status: "unchanged", entryIds: [], mergedById: first.summaryEntry!.id });
    }
    expect(JSON.stringify(session.entries())).toBe(before);
  });

  test("brings nothing where the branch was left with a summary", async () => {
    const made = history("U A | U A");
    const { session, id } = made;
    await navigateTree({ session, targetId: id("a1"), settings, summarise: true });
    expect(await merged(made, id("a2"))).toBe("unchanged:");
  });

  test.each([
    ["grown", "U A | U A U A ^a1 U A", "a3", "merged: u3 a3"],
    ["been compacted", "U A | U A C(u2) U A ^a1 U A", "a3", "merged: u3 a3"],
    ["grown and been compacted", "U A | U A U A C(u3) U A ^a1 U A", "a4", "merged: u3 a3 u4 a4"],
    ["been compacted and nothing else", "U A | U A C() ^a1 U A", "c1", "unchanged:"],
  ])("brings only what is new where the branch has %s", async (_, notation, end, expected) => {
    const made = history(notation);
    expect(await merged(made, made.id("a2"))).toBe("merged: u2 a2");
    expect(await merged(made, made.id(end))).toBe(expected);
  });

  test("leaves out what came from here in turn", async () => {
    const made = history(parted);
    const { session, id } = made;
    const here = session.leafId!;
    session.moveTo(id("a2"));
    await mergeBranch({ session, branchId: here, settings });
    session.append({ type: "message", message: { role: "user", content: "and now?", timestamp: 1 } });
    const there = session.leafId!;
    session.moveTo(here);
    const { entryIds } = await mergeBranch({ session, branchId: there, settings });
    expect(entryIds).toEqual([id("u2"), id("a2"), there]);
    const leafId = session.leafId!;
    session.moveTo(there);
    expect((await mergeBranch({ session, branchId: leafId, settings })).status).toBe("unchanged");
  });

  test("knows what a branch brought from a third", async () => {
    const made = history("U A | U A ^a1 U A ^a1 U A");
    const { session, id } = made;
    session.moveTo(id("a3"));
    await mergeBranch({ session, branchId: id("a2"), settings });
    const second = session.leafId!;
    session.moveTo(id("a4"));
    const first = await mergeBranch({ session, branchId: second, settings });
    expect(first.entryIds).toEqual([id("u3"), id("a3"), second]);
    const third = await mergeBranch({ session, branchId: id("a2"), settings });
    expect(third).toMatchObject({ status: "unchanged", mergedById: first.summaryEntry!.id });
  });
});

test("the files and words of a merged branch go on in the next compaction", async () => {
  const { session, id } = history('U A | U"never touch the lock file" A(t1=edit:a.ts) T1 A ^a1 U A');
  await mergeBranch({ session, branchId: id("a3"), settings });
  history("U:2000 A:2000 U A", session);
  const { status, modifiedFiles, summary } = await runCompaction({
    session,
    settings: compactionSettings({ keepRecentTokens: 100 }, { estimator: "chars4" }),
    digest: scriptedSummariser(),
  });
  expect({ status, modifiedFiles }).toEqual({ status: "compacted", modifiedFiles: ["a.ts"] });
  expect(summary).toContain("never touch the lock file");
});

describe("an extension", () => {
  test("sees a merge as one, and may give its summary", async () => {
    const { session, id } = history("U A | U A ^a1 U A");
    const lifecycle = lifecycleOfTree();
    const told: unknown[] = [];
    const leafId = session.leafId;
    lifecycle.on("session_before_tree", ({ preparation }) => {
      expect(preparation).toMatchObject({
        isMerge: true,
        targetId: leafId,
        oldLeafId: id("a2"),
        commonAncestorId: id("a1"),
        userWantsSummary: true,
      });
      expect(preparation.entriesToSummarize.map((entry) => entry.id)).toEqual([id("u2"), id("a2")]);
      return { summary: { summary: "Tried it." } };
    });
    lifecycle.on("session_tree", (event) => void told.push(event));
    const { summaryEntry } = await mergeBranch({ session, branchId: id("a2"), settings, lifecycle });
    expect(summaryEntry).toMatchObject({ summary: "Tried it.", fromHook: true, parentId: leafId });
    const newLeafId = summaryEntry!.id;
    expect(told).toEqual([
      {
        type: "session_tree",
        newLeafId,
        oldLeafId: leafId,
        summaryEntry,
        fromExtension: true,
        isMerge: true,
      },
    ]);
  });

  test("is not asked where nothing is new", async () => {
    const { session, id } = history("U A | m ^a1 U");
    const lifecycle = lifecycleOfTree();
    lifecycle.on("session_before_tree", () => expect.unreachable());
    expect((await mergeBranch({ session, branchId: id("m1"), settings, lifecycle })).status).toBe(
      "unchanged",
    );
  });
});

describe("the file stays byte for byte", () => {
  const aborted = AbortSignal.abort();
  const cancelling = lifecycleOfTree();
  cancelling.on("session_before_tree", () => ({ cancel: true }));
  const failing = scriptedSummariser([new Error("down")]);
  test.each([
    ["where the summary fails", { summariser: failing }, "branch_summary_failed"],
    ["where the user stops it", { signal: aborted }, "cancelled"],
    ["where an extension cancels it", { lifecycle: cancelling }, "cancelled"],
  ])("%s", async (where, options, expected) => {
    const file = join(folder, `${where.replaceAll(" ", "-")}.jsonl`);
    const { session, id } = history("U A | U A ^a1 U A", createSession({ cwd: "/project", file }));
    const before = readFileSync(file);
    const outcome = await mergeBranch({ session, branchId: id("a2"), settings, ...options }).then(
      ({ status }) => status,
      ({ code }) => code,
    );
    expect(outcome).toBe(expected);
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});

test("law: a merge appends one entry under the leaf or none, and the same merge again none", async () => {
  await fc.assert(
    fc.asyncProperty(treeArbitrary(), fc.nat(999), async (notation, pick) => {
      const { session } = history(notation);
      const count = () => session.entries().length;
      const entries = session.entries();
      const branchId = entries[pick % Math.max(1, entries.length)]?.id;
      if (branchId === undefined) return;
      const [leafId, before] = [session.leafId, count()];
      const first = await mergeOf(session, branchId);
      if (first?.status === "merged") {
        expect(session.entry(session.leafId!)).toMatchObject({ parentId: leafId, type: "branch_summary" });
        expect(count()).toBe(before + 1);
      } else expect([session.leafId, count()]).toEqual([leafId, before]);
      const after = count();
      expect((await mergeOf(session, branchId))?.status).toBe(first && "unchanged");
      expect(count()).toBe(after);
    }),
  );
});

/** Undefined for an entry of the path itself. */
async function mergeOf(session: Session, branchId: string) {
  const isOwn = session.path().some(({ id }) => id === branchId);
  const merge = mergeBranch({ session, branchId, settings });
  if (!isOwn) return merge;
  await expect(merge).rejects.toThrow(expect.objectContaining({ code: "merge_own_path" }));
  return undefined;
}

test("a summary that names its own descendant, or no entry, is no hindrance", async () => {
  const file = join(folder, "circle.jsonl");
  const { session, id } = history("U A | U A ^a1 U A", createSession({ cwd: "/project", file }));
  const summary = session.append({ type: "branch_summary", summary: "s", fromId: "gone" });
  const after = session.append({ type: "branch_summary", summary: "s", fromId: summary.id });
  session.append({ type: "branch_summary", summary: "s", fromId: after.id });
  const again = openSession(file);
  expect((await mergeBranch({ session: again, branchId: id("a2"), settings })).status).toBe("merged");
});
