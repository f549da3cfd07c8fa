import fc from "fast-check";
import { expect, test } from "vitest";
import { addMissingEntries } from "../src/host.ts";
import { createSession, MemoryStore, openSession } from "../src/index.ts";

const written = (store: MemoryStore) => {
  const bytes = Buffer.alloc(store.size());
  store.read(bytes, 0);
  return bytes.toString();
};

/** A copy of a session after more entries; with a torn line if `isTorn`. */
function copyOf(base: string, texts: readonly string[], isTorn = false): MemoryStore {
  const store = new MemoryStore(base);
  const session = openSession({ store });
  for (const text of texts) session.append({ type: "custom", customType: "test", data: text });
  if (isTorn) store.append('{"type":"cus');
  return store;
}

test("a session gets the entries of another copy at its end, or as a branch if it has own entries", () => {
  const begun = new MemoryStore();
  createSession({ store: begun, cwd: "/work" }).append({ type: "custom", customType: "test", data: "begin" });
  const base = written(begun);
  const texts = fc.array(fc.string(), { maxLength: 4 });
  fc.assert(
    fc.property(texts, texts, fc.boolean(), (own, others, isTorn) => {
      const [here, there] = [copyOf(base, own, isTorn), copyOf(base, others)];
      const before = openSession({ store: here });
      const other = openSession({ store: there });
      const position = own.length === 0 ? other.leafId : before.leafId;
      const start = written(here);
      const { bytes, isBranch } = addMissingEntries(before, other);
      expect([bytes > 0, isBranch]).toEqual([others.length > 0, own.length > 0]);
      expect(written(here).startsWith(start)).toBe(true);
      const after = openSession({ store: here });
      const count = 1 + own.length + others.length + (own.length > 0 && others.length > 0 ? 1 : 0);
      expect([after.entries().length, after.leafId]).toEqual([count, position]);
      expect(addMissingEntries(after, other).bytes).toBe(0);
      if (own.length === 0 && !isTorn) expect(written(here)).toBe(written(there));
    }),
    { numRuns: 12 },
  );
});
