import type { Session } from "@bonsai-agent/session";
import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RunCompactionOptions } from "../src/flow/compaction.ts";
import { type CompactionPolicy, cutRefusal, originalProjection } from "../src/host.ts";
import {
  CompactionController,
  type CompactionSettingsInput,
  compactionSettings,
  cutPlaces,
  manifestOf,
  planCompaction,
  readContext,
  runCompaction,
} from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settingsFor = (input: CompactionSettingsInput = {}, policy: Partial<CompactionPolicy> = {}) =>
  compactionSettings(
    { keepRecentTokens: 200, mask: { enabled: false }, ...input },
    { estimator: "chars4", ...policy },
  );
const settings = settingsFor();

/** A compaction by a scripted model, and what that one read. */
async function compact(session: Session, options: Partial<RunCompactionOptions> = {}) {
  const summariser = scriptedSummariser();
  const result = await runCompaction({ session, settings, summariser, ...options });
  expect(result.status, result.detail).toBe("compacted");
  return { ...result, requests: summariser.requests };
}

const again = (session: Session, options: Partial<RunCompactionOptions> = {}) =>
  compact(session, { replacesLatest: true, ...options });
const read = ({ requests }: Awaited<ReturnType<typeof compact>>) =>
  requests.map(({ prompt }) => prompt.user).join("\n");
const seen = (session: Session) => session.projection().items.map(({ entryId }) => entryId);

test("the latest compaction is made anew from the originals, with the same cut; the former one stays", async () => {
  const { session, id } = history('U"Use port 8443." A:100 | U:100 A:100 | U:100 A:100');
  const former = await compact(session);
  history('U"And one more." A:100', session);
  const anew = await again(session, { focus: "the port" });
  expect(read(anew)).toContain("Use port 8443.");
  expect(read(anew)).not.toContain("first history");
  expect(anew.requests[0]).toMatchObject({ focus: "the port" });
  expect(anew.requests[0]?.previousSummary).toBeUndefined();
  expect(anew.requests[0]?.instruction).toBeUndefined();
  expect(anew.entry).toMatchObject({
    replacesCompactionId: former.entryId,
    firstKeptEntryId: former.firstKeptEntryId,
  });
  expect(anew.summarizedEntryIds).toEqual(former.summarizedEntryIds);
  expect(anew.detail).toContain("again, from the original entries");
  expect(seen(session)).toEqual([anew.entryId, id("u3"), id("a3"), ...anew.keptEntryIds.slice(2)]);
  expect(session.entry(former.entryId!)).toEqual(former.entry);
  session.undoCompaction(anew.entryId!);
  expect(session.projection().compaction?.id).toBe(former.entryId);
});

test("the size is the report before the former compaction plus an estimate of later messages", async () => {
  const { session } = history("U:100 A:100 | U:100 A:100 | U:100 A:100@9000");
  const former = await compact(session);
  expect(former.tokensBefore).toBe(9000);
  expect((await again(session)).tokensBefore).toBe(9000);
  history("U:100 A:100", session);
  const anew = await again(session);
  expect(anew.tokensBefore).toBe(9200);
  const { fixedTokens, summarisedTokens, turnPrefixTokens, maskedTokens, keptTokens } = anew.sizes;
  expect(fixedTokens + summarisedTokens + turnPrefixTokens + maskedTokens + keptTokens).toBe(9200);
});

test("made anew again and again, it is from the originals each time", async () => {
  const { session } = history('U"Use port 8443." A:100 | U:100 A:100 | U:100 A:100');
  const cuts = new Set([(await compact(session)).firstKeptEntryId]);
  for (let round = 0; round < 3; round += 1) {
    const anew = await again(session);
    expect(read(anew)).toContain("Use port 8443.");
    cuts.add(anew.firstKeptEntryId);
  }
  expect(cuts.size).toBe(1);
});

test("a repeated compaction starts from the same earlier summary and record as the former one", async () => {
  const { session } = history('U"Use port 8443." A:100 | U:100 A:100');
  const first = await compact(session, { settings: settingsFor({ keepRecentTokens: 100 }) });
  history('U"Keep src/old.ts as it is." A:100 | U:100 A:100 | U:100 A:100', session);
  const second = await compact(session);
  const anew = await again(session);
  expect(anew.requests[0]?.previousSummary).toBe(second.requests[0]?.previousSummary);
  expect(read(anew)).toBe(read(second));
  expect(manifestOf(anew.entry)).toMatchObject({ previousCompactionId: first.entryId });
  const record = ({ entry }: typeof anew) => (entry!.details as { record: unknown }).record;
  expect(record(anew)).toEqual(record(second));
});

test("content that the former compaction masked or shortened is read whole; earlier removals stay", async () => {
  const log = `${"made it. ".repeat(800)}The token is Zanzibar.${" made it.".repeat(800)}`;
  const { session, id } = history(
    [`U A(t1) T1"${log}" A | U X"secret" E(x1) B"${log}" A`, "U:100 A:100 | U:100 A:100"].join(" | "),
  );
  const masking = settingsFor({
    keepRecentTokens: 400,
    mask: { enabled: true, protectTokens: 2_000, minimumTokens: 500 },
  });
  const former = await compact(session, { settings: masking, firstKeptEntryId: id("a1") });
  expect(former.edits.map(({ targetId }) => targetId)).toEqual([id("t1"), id("b1")]);
  // At another cut, what was kept then, masked, is summarised now.
  const wide = { ...masking, serialize: { toolResultChars: 100_000 } };
  const anew = await again(session, { settings: wide, firstKeptEntryId: id("u3") });
  expect(read(anew).split("Zanzibar")).toHaveLength(2);
  expect(read(anew)).not.toContain("secret");
});

test("a request that the former compaction shortened after an overflow is read whole", async () => {
  const text = `${"please do. ".repeat(500)}The token is Zanzibar.${" please do.".repeat(6_000)}`;
  const { session, id } = history(`U:3000 A:3000 | U"${text}"`);
  const former = await compact(session, {
    reason: "overflow",
    model: { contextWindow: 20_000 },
    fixedTexts: () => ["x".repeat(14_500 * 4)],
  });
  expect(former.edits.map(({ targetId }) => targetId)).toEqual([id("u2")]);
  history("A:100 | U:100 A:100", session);
  const anew = await again(session, { firstKeptEntryId: session.path().at(-2)!.id });
  expect(read(anew).split("Zanzibar")).toHaveLength(2);
});

test("a message that was edited before the former compaction masked it is read as the latest edit left it", async () => {
  const { session, id } = history("U A(t1) T1:9000 A");
  for (const text of ["The first text.", `${"made it. ".repeat(1_600)}The token is Zanzibar.`])
    session.append({
      ...{ type: "context_edit", targetId: id("t1") },
      replacement: { content: [{ type: "text", text }] },
    });
  history("U:100 A:100 | U:100 A:100 | U:100 A:100", session);
  const masking = settingsFor({
    keepRecentTokens: 10_000,
    mask: { enabled: true, protectTokens: 100, minimumTokens: 500 },
    serialize: { toolResultChars: 100_000 },
  });
  const former = await compact(session, { settings: masking, firstKeptEntryId: id("a1") });
  expect(former.edits.map(({ targetId }) => targetId)).toEqual([id("t1")]);
  const later = session.path().findLast(({ type, id: of }) => type === "message" && of !== session.leafId);
  const anew = await again(session, { settings: masking, firstKeptEntryId: later!.parentId! });
  expect(read(anew).split("Zanzibar")).toHaveLength(2);
  expect(read(anew)).not.toContain("The first text.");
});

test.each([
  ["an extension's own", { details: { mine: true }, fromHook: true }],
  ["pi's", {}],
])("a former compaction that is %s is made anew like one of ours", async (_, fields) => {
  const { session, id } = history('U"Use port 8443." A:100 | U:100 A:100 | U:100 A:100');
  session.append({
    type: "compaction",
    summary: "It was.",
    firstKeptEntryId: id("a2"),
    tokensBefore: 9,
    ...fields,
  });
  history("U:100 A:100", session);
  const anew = await again(session);
  expect(read(anew)).toContain("Use port 8443.");
  expect(read(anew)).not.toContain("It was.");
  expect(anew.firstKeptEntryId).toBe(id("a2"));
});

test("a cut of a former compaction that is not legal gives way to the nearest before it", async () => {
  const { session, id } = history("U:100 A:100 | U:100 A(t1):100 T1:100 A:100");
  session.append({ type: "compaction", summary: "It was.", firstKeptEntryId: id("t1"), tokensBefore: 9 });
  expect((await again(session)).firstKeptEntryId).toBe(id("a2"));
});

test("an extension makes it anew, and its own counts as replaced too", async () => {
  const { session } = history('U"Use port 8443." A:100 | U:100 A:100 | U:100 A:100');
  const lifecycle = compactionLifecycle();
  const given: string[] = [];
  lifecycle.on("session_before_compact", ({ preparation }) => {
    const { firstKeptEntryId, tokensBefore, messagesToSummarize } = preparation;
    given.push(JSON.stringify(messagesToSummarize));
    return { compaction: { summary: `Mine, ${given.length}.`, firstKeptEntryId, tokensBefore } };
  });
  await compact(session, { lifecycle });
  await again(session, { lifecycle });
  const third = await again(session, { lifecycle });
  expect(third.summary).toContain("Mine, 3.");
  expect(new Set(given).size).toBe(1);
  expect(given[0]).toContain("Use port 8443.");
});

test("a compaction that kept nothing keeps what came since; without anything, nothing again", async () => {
  const { session } = history("U:100 A:100");
  const nothing = { settings: settingsFor({ keepRecentTokens: 1 }, { manualKeep: "nothing" }) };
  const former = await compact(session, nothing);
  expect(former.firstKeptEntryId).toBeNull();
  const anew = await again(session, nothing);
  expect(anew.firstKeptEntryId).toBeNull();
  history("U:100 A:100", session);
  expect((await again(session, nothing)).keptEntryIds).toHaveLength(2);
});

test("a cut before a hidden entry is allowed again, and results that the model has not seen are kept", async () => {
  const { session, id } = history("U:100 A:100 | U:100 A:100 | U:100 A:100 | U:100 A(t1):10 T1:10");
  await compact(session, { firstKeptEntryId: id("u3") });
  const at = { session, settings, firstKeptEntryId: id("u2") };
  expect(cutRefusal(at)?.reason).toContain("already replaced it");
  expect(cutRefusal({ ...at, replacesLatest: true })).toBeUndefined();
  expect(
    cutPlaces({ session, estimator: settings.estimator, replacesLatest: true }).map(({ entryId }) => entryId),
  ).toContain(id("u2"));
  expect((await again(session, { firstKeptEntryId: id("u2") })).summarizedEntryIds).toEqual([
    id("u1"),
    id("a1"),
  ]);
});

test.each([
  ["there is no compaction", "U A | U A", "no compaction"],
  ["the only one was undone", "U A | U A C(u2) Z(c1)", "no compaction"],
  ["it stands for nothing that is stored", "U A C(u1)", "does not contain the entries"],
])("nothing can be made anew where %s", async (_, notation, said) => {
  const { session } = history(notation);
  const before = session.entries().length;
  const result = await runCompaction({ session, settings, replacesLatest: true });
  expect(result).toMatchObject({ status: "failed", error: { code: "nothing_to_make_anew" } });
  expect(result.detail).toContain(said);
  expect(session.entries()).toHaveLength(before);
});

test("the controller makes it anew, with the digest too", async () => {
  const { session } = history('U"Use port 8443." A:100 | U:100 A:100 | U:100 A:100');
  const controller = new CompactionController({ session, settings, model: () => ({}) });
  await compact(session);
  expect(await controller.compact({ replacesLatest: true, useDigest: true })).toMatchObject({
    status: "compacted",
  });
  expect(session.projection().compaction?.summary).toContain("8443");
});

test("it can be looked at before it is written; where the session has gone back meanwhile, nothing is", async () => {
  const { session } = history('U"Use port 8443." A:100 | U:100 A:100 | U:100 A:100');
  const former = await compact(session);
  const looked = { ...settings, confirm: "always" as const };
  const review = async () => ({ action: "apply" }) as const;
  const anew = await again(session, { settings: looked, review });
  expect(anew.entry?.replacesCompactionId).toBe(former.entryId);
  const undoing = async () => {
    session.undoCompaction(anew.entryId!);
    return { action: "apply" } as const;
  };
  const refused = await runCompaction({ session, settings: looked, review: undoing, replacesLatest: true });
  expect(refused).toMatchObject({ status: "failed", error: { code: "draft_outdated" } });
  expect(session.projection().compaction?.id).toBe(former.entryId);
});

test("made anew is what a compaction of the undone session would be, and nothing is lost", async () => {
  await fc.assert(
    fc.asyncProperty(
      treeArbitrary({ maxTokens: 200 }),
      treeArbitrary({ maxTokens: 200, compactions: false, branches: false }),
      async (notation, more) => {
        const { session } = history(notation);
        const first = await runCompaction({ session, settings, summariser: scriptedSummariser() });
        fc.pre(first.status === "compacted");
        history(more.replaceAll(/\bt(\d)/g, "n$1").replaceAll("T(t", "T(n"), session);
        const leafId = session.leafId;
        const without = originalProjection(session).items.map(({ entryId }) => entryId);
        const anew = planCompaction({ session, settings, replacesLatest: true });
        expect(anew.status).toBe("planned");
        const spans = [...anew.summarizedEntryIds, ...anew.turnPrefixEntryIds, ...anew.keptEntryIds];
        const previous = readContext({ session, estimator: settings.estimator }).projection.compaction;
        session.undoCompaction(previous!.id);
        expect(seen(session)).toEqual(without);
        expect(
          session
            .projection()
            .items.flatMap(({ message, entryId }) => (message.role === "compactionSummary" ? [] : [entryId])),
        ).toEqual(spans);
        session.moveTo(leafId);
        const summariser = scriptedSummariser();
        const made = await runCompaction({ session, settings, summariser, replacesLatest: true });
        expect(made.status).toBe("compacted");
        expect(seen(session)).toEqual([made.entryId, ...anew.keptEntryIds]);
      },
    ),
  );
});
