import { fewRuns, history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cutRefusal } from "../src/host.ts";
import { compactionSettings, cutPlaces, planCompaction, readContext, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings(
  { keepRecentTokens: 100, mask: { protectTokens: 2_000, minimumTokens: 500 } },
  { estimator: "chars4" },
);

test.each([
  ["each turn and each answer but the first message", "U:10 A:20 | U:30 A:40", "a1 90, u2 70, a2 40"],
  [
    "no result, and nothing between a call and its results",
    "U A(t1 t2):10 T1:10 X:10 T2:10 A:10 | U:10 A:10",
    "a1 85, a2 30, u2 20, a3 10",
  ],
  ["no answer that was stopped", "U A:10 A~aborted:10 | U:10 A:10", "a1 40, u2 20, a3 10"],
  [
    "what the model has not answered, as by default",
    "U A:10 | U:10 A:10 U:10 U:10",
    "a1 50, u2 40, a2 30, u3 20, u4 10",
  ],
  [
    "nothing behind results that the model has not seen",
    "U A:10 | U:10 A(t1):10 T1:10 U:10",
    "a1 50, u2 40, a2 30",
  ],
  ["nothing that a compaction has hidden", "U A:10 | U:10 A:10 C(u2) U:10 A:10", "a2 30, u3 20, a3 10"],
  ["nothing where there is one message", "U:10", ""],
])("the places of a cut: %s", (_, notation, places) => {
  const { session, name } = history(notation);
  const found = cutPlaces({ session, estimator: settings.estimator }).map(
    ({ entryId, keptTokens }) => `${name(entryId)} ${keptTokens}`,
  );
  expect(found.join(", ")).toBe(places);
});

test.each([
  ["u1", "U A | U A", "No entry before it can be summarised.", "a1"],
  [
    "t2",
    "U A(t1 t2) T1 T2 A",
    "It is a tool result. A result stays with the answer that called the tool.",
    "a2",
  ],
  ["x1", "U A(t1) X T1 A", "It is between a tool call and its result. These stay together.", "a1"],
  ["a2", "U A A~aborted U A", "It is a failed or stopped answer.", "a1"],
  [
    "u3",
    "U A U A(t1) T1 U",
    "The model has not seen the tool results before it yet. They stay with the answer that called the tools.",
    "a2",
  ],
  ["a1", "U A | U A C(u2) U A", "The latest compaction already replaced it.", "a2"],
  ["c1", "U A | U A C(u2) U A", "It is not a message in the model's context.", "u3"],
  ["u2", "U A | U E(u2) A", "It is not a message in the model's context.", "a2"],
  ["u2", "U A | U A ^a1 A U A", "It is not on the current branch.", "a1"],
])("a cut at %s of %s is refused", async (name, notation, reason, nearest) => {
  const built = history(notation);
  const { session } = built;
  const firstKeptEntryId = built.id(name);
  const before = session.entries().length;
  const refusal = cutRefusal({ session, estimator: settings.estimator, firstKeptEntryId });
  expect([refusal?.reason, built.name(refusal?.nearest?.entryId ?? "")]).toEqual([reason, nearest]);
  const result = await runCompaction({ session, settings, firstKeptEntryId });
  expect(result).toMatchObject({ status: "failed", error: { code: "cut_not_allowed" } });
  expect(result.error?.message).toContain(reason);
  expect(result.error?.hint).toContain(refusal?.nearest?.entryId);
  expect(session.entries()).toHaveLength(before);
});

test("an id that the session does not have is refused like one of another branch", () => {
  const { session } = history("U A | U A");
  const refusal = cutRefusal({ session, estimator: settings.estimator, firstKeptEntryId: "nowhere" });
  expect(refusal?.reason).toBe("It is not on the current branch.");
});

test("the refusal of a cut says that the context is too short", () => {
  const { session, id } = history("U");
  const refused = () => planCompaction({ session, settings, firstKeptEntryId: id("u1") });
  expect(refused).toThrow(
    expect.objectContaining({ code: "cut_not_allowed", hint: "The context is still too short to cut." }),
  );
});

test("a cut right after a compaction goes on from its summary", async () => {
  const { session, id, name } = history("U A | U A | U A");
  const summariser = scriptedSummariser();
  await runCompaction({ session, settings, summariser, firstKeptEntryId: id("u2") });
  const second = await runCompaction({ session, settings, summariser, firstKeptEntryId: id("u3") });
  expect(second.status).toBe("compacted");
  expect(second.summarizedEntryIds.map(name)).toEqual(["u2", "a2"]);
  expect(session.projection().items.map(({ entryId }) => name(entryId))).toEqual([
    second.entryId,
    "u3",
    "a3",
  ]);
});

test("law: where the context is cut by default is a place that somebody can choose", async () => {
  const law = fc.property(
    treeArbitrary({ maxSteps: 40 }),
    fc.integer({ min: 1, max: 400 }),
    (notation, keep) => {
      const { session } = history(notation);
      const keeping = { ...settings, keepRecentTokens: keep };
      const { status, firstKeptEntryId } = planCompaction({ session, settings: keeping });
      if (status !== "planned" || firstKeptEntryId === null) return;
      const places = cutPlaces({ session, estimator: keeping.estimator }).map(({ entryId }) => entryId);
      expect(places).toContain(firstKeptEntryId);
    },
  );
  fc.assert(law);
});

test("each place can be planned and committed, summarised and kept are the projection; all else is refused", async () => {
  await fc.assert(
    fc.asyncProperty(treeArbitrary({ maxTokens: 200 }), fc.nat(99), async (notation, pick) => {
      const { session } = history(notation);
      const { items } = readContext({ session, estimator: settings.estimator }).projection;
      const seen = items.filter(({ message }) => message.role !== "compactionSummary");
      const places = cutPlaces({ session, estimator: settings.estimator });
      const legal = new Set(places.map(({ entryId }) => entryId));
      const refusals = session.entries().map(({ id: firstKeptEntryId }) => {
        return [
          firstKeptEntryId,
          cutRefusal({ session, estimator: settings.estimator, firstKeptEntryId }),
        ] as const;
      });
      const allowed = refusals.filter(([, refusal]) => refusal === undefined).map(([id]) => id);
      expect(new Set(allowed)).toEqual(legal);
      const nearest = refusals.flatMap(([, refusal]) => refusal?.nearest ?? []);
      expect(places).toEqual(expect.arrayContaining(nearest));
      for (const { entryId: firstKeptEntryId } of places) {
        const plan = planCompaction({ session, settings, firstKeptEntryId });
        expect(plan).toMatchObject({ status: "planned", firstKeptEntryId });
        expect([...plan.summarizedEntryIds, ...plan.turnPrefixEntryIds, ...plan.keptEntryIds]).toEqual(
          seen.map(({ entryId }) => entryId),
        );
      }
      const place = places[pick % Math.max(1, places.length)];
      fc.pre(place !== undefined);
      const { entryId: firstKeptEntryId } = place!;
      const result = await runCompaction({
        session,
        settings,
        summariser: scriptedSummariser(),
        firstKeptEntryId,
      });
      expect(result).toMatchObject({ status: "compacted", firstKeptEntryId });
      const after = session.projection().items.map(({ entryId }) => entryId);
      expect(after).toEqual([result.entryId, ...result.keptEntryIds]);
    }),
    fewRuns(),
  );
});
