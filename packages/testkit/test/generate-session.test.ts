import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Entry, openSession } from "@bonsai-agent/session";
import { type GenerateSessionOptions, generateSession } from "@bonsai-agent/testkit";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "bonsai-generate-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function generated(options: Omit<GenerateSessionOptions, "file">) {
  const file = join(folder, `${files++}.jsonl`);
  return { ...generateSession({ file, ...options }), text: readFileSync(file, "utf8") };
}

test("the same seed gives the same bytes, another seed gives others", () => {
  const options = { entries: 500, compactions: 2, branchiness: 0.3 };
  expect(generated({ ...options, seed: 5 }).text).toBe(generated({ ...options, seed: 5 }).text);
  expect(generated({ ...options, seed: 6 }).text).not.toBe(generated({ ...options, seed: 5 }).text);
});

test("every line is an entry with a unique id and a parent that stands before it", () => {
  const { text, entries, leafId } = generated({
    entries: 3000,
    compactions: 3,
    branchiness: 0.2,
    labels: 0.2,
  });
  const parsed = text
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => JSON.parse(line) as Entry);
  const seen = new Set<string | null>([null]);
  for (const entry of parsed) {
    expect(seen.has(entry.parentId)).toBe(true);
    expect(seen.has(entry.id)).toBe(false);
    seen.add(entry.id);
  }
  expect(parsed).toHaveLength(entries);
  expect(parsed.at(-1)?.id).toBe(leafId);
});

test.each([600, 2000, 8000])("lines are %i bytes long on average", (averageBytes) => {
  const { bytes, entries } = generated({ entries: 2000, averageBytes });
  expect(bytes / entries / averageBytes).toBeGreaterThan(0.9);
  expect(bytes / entries / averageBytes).toBeLessThan(1.1);
});

test("compactions keep a near entry of their own path, and the last one stands near the end", () => {
  const { file, compactions, branches, labels } = generated({
    entries: 4000,
    compactions: 4,
    tailEntries: 30,
    branchiness: 0.1,
  });
  const session = openSession(file);
  const path = session.path();
  const own = path.filter((entry) => entry.type === "compaction");
  for (const compaction of own) {
    const [at, kept] = [compaction, { id: compaction.firstKeptEntryId }].map((wanted) =>
      path.findIndex((entry) => entry.id === wanted.id),
    ) as [number, number];
    expect(kept).toBeGreaterThanOrEqual(0);
    expect(at - kept).toBeLessThan(80);
  }
  expect(compactions).toBe(4);
  expect(path.length - path.indexOf(own.at(-1)!)).toBeLessThanOrEqual(31);
  expect(branches).toBeGreaterThan(10);
  expect(labels).toBeGreaterThan(5);
});
