import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JsonlStore, openSession } from "@bonsai-agent/session";
import { countedReads, generateSession, history } from "@bonsai-agent/testkit";
import { beforeAll, expect, test } from "vitest";
import { CompactionController, compactionSettings, navigateTree, runCompaction } from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-large-"));
const file = join(folder, "large.jsonl");
const ENTRIES = 16_000;
let fileBytes = 0;
beforeAll(() => {
  fileBytes = generateSession({ file, entries: ENTRIES, averageBytes: 700, compactions: 1 }).bytes;
});

const settings = compactionSettings({ keepRecentTokens: 2_000 });
const model = () => ({ contextWindow: 20_000 });

/** The large session, and how much of its file was read so far. */
function opened() {
  const { store, read } = countedReads(JsonlStore.open(file));
  return { session: openSession({ store }), read };
}

test("the first compaction after one of somebody else reads the session, once", async () => {
  const { session, read } = opened();
  history("U:9000 A:9000 U:100", session);
  const openingBytes = read.bytes;
  expect((await runCompaction({ session, settings, model: model() })).status).toBe("compacted");
  expect(read.bytes - openingBytes).toBeGreaterThan(fileBytes / 2);
  history("U:9000 A:9000 U:100", session);
  const readBytes = read.bytes;
  expect((await runCompaction({ session, settings, model: model() })).status).toBe("compacted");
  expect(read.bytes - readBytes).toBeLessThan(fileBytes / 100);
  session.close();
});

test("threshold check and compaction of a long, compacted session read no more than its tail", async () => {
  const { session, read } = opened();
  expect(read.bytes).toBeLessThan(fileBytes / 20);
  // The view is read at its first use.
  session.projection();
  const viewBytes = read.bytes;
  expect(viewBytes).toBeLessThan(fileBytes / 12);
  const lifecycle = compactionLifecycle();
  const controller = new CompactionController({ session, settings, model, lifecycle });
  await controller.checkThreshold({ site: "beforePrompt" });
  controller.answerArrived();
  history("U:9000 A:9000 U:100", session);
  expect((await controller.checkThreshold({ site: "beforePrompt" })).status).toBe("compacted");
  history("U:3000 A:3000 U:100", session);
  expect((await controller.compact()).status).toBe("compacted");
  // A write may read the end of the file.
  expect(read.bytes - viewBytes).toBeLessThan(fileBytes / 100);
  session.close();
});

test("a handler is given the whole path", async () => {
  const { session } = opened();
  const lifecycle = compactionLifecycle();
  let given = 0;
  lifecycle.on("session_before_compact", ({ branchEntries }) => {
    given = branchEntries.length;
  });
  const controller = new CompactionController({ session, settings, model, lifecycle });
  history("U:3000 A:3000 U:100", session);
  await controller.compact();
  expect(given).toBe(session.path().filter((entry) => entry.type !== "context_edit").length - 1);
  expect(given).toBeGreaterThan(ENTRIES / 2);
  session.close();
});

test("a handler that does not ask for the path costs no reading of it", async () => {
  const { session, read } = opened();
  const lifecycle = compactionLifecycle();
  const heard: string[] = [];
  lifecycle.on("session_before_compact", ({ preparation, reason }) => {
    heard.push(`${reason}, ${preparation.isSplitTurn}`);
    return {};
  });
  lifecycle.on("session_before_compact", (event) => {
    heard.push(Object.keys(event).sort().join(" "));
    return {};
  });
  const controller = new CompactionController({ session, settings, model, lifecycle });
  history("U:3000 A:3000 U:100", session);
  const before = read.bytes;
  expect((await controller.compact()).status).toBe("compacted");
  expect(heard).toEqual(["manual, true", "branchEntries current preparation reason signal type willRetry"]);
  expect(read.bytes - before).toBeLessThan(fileBytes / 100);
  session.close();
});

test("a handler of a move in the tree does not have the left branch parsed", async () => {
  const { session, read } = opened();
  const lifecycle = compactionLifecycle();
  let left = "";
  lifecycle.on("session_before_tree", ({ preparation }) => {
    left = `${preparation.oldLeafId} ${preparation.commonAncestorId}`;
    return {};
  });
  const { leafId } = session;
  const target = session.projection().items.findLast(({ message }) => message.role === "assistant")!.entryId;
  session.index();
  const before = read.bytes;
  expect((await navigateTree({ session, targetId: target, settings, lifecycle })).status).toBe("moved");
  expect(left).toBe(`${leafId} ${target}`);
  expect(read.bytes - before).toBeLessThan(fileBytes / 20);
  expect(session.leafId).toBe(target);
});
