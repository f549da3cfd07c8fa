import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { branchDiff, compactionSettings } from "../src/index.ts";

const settings = compactionSettings({}, { estimator: "chars4" });

function diffOf(notation: string, a: string, b: string) {
  const made = history(notation);
  const at = (name: string) => (name === "0" ? null : made.id(name));
  return { ...made, diff: branchDiff({ session: made.session, settings, a: at(a), b: at(b) }) };
}

test.each([
  ["two branches", "U A | U A ^a1 U A", "a2", "a3", "parted", "a1", "u2 a2", "u3 a3"],
  ["one place", "U A U A", "a2", "a2", "same", "a2", "", ""],
  ["B above A", "U A | U A", "a2", "a1", "ahead", "a1", "u2 a2", ""],
  ["A above B", "U A | U A", "a1", "a2", "behind", "a1", "", "u2 a2"],
  ["two roots", "U A ^0 U A", "a1", "a2", "unrelated", "", "u1 a1", "u2 a2"],
  ["the beginning and a place", "U A", "0", "a1", "behind", "", "", "u1 a1"],
  ["a compacted branch", "U A | U A C(u2) U ^a1 U", "u3", "u4", "parted", "a1", "u2 a2 c1 u3", "u4"],
])("%s", (_, notation, a, b, relation, ancestor, ofA, ofB) => {
  const { diff, name } = diffOf(notation, a, b);
  const names = (side: { entries: readonly { id: string }[] }) =>
    side.entries.map(({ id }) => name(id)).join(" ");
  const common = diff.commonAncestor === null ? "" : name(diff.commonAncestor.id);
  expect([diff.relation, common, names(diff.a), names(diff.b)]).toEqual([relation, ancestor, ofA, ofB]);
});

test("a side says what was done on it, compacted or not", () => {
  const { diff, id } = diffOf(
    'U A(t0=read:b.ts) T0 | U"try the cache" A(t1=edit:a.ts t2=read:b.ts) T1 T2 A"It works." C(u2) B ' +
      '^t0 U"another way" A(t3=read:/project/a.ts t4=edit:c.ts) T3 T4!',
    "b1",
    "t4",
  );
  expect(diff.a).toMatchObject({
    turns: 2,
    files: { created: [], modified: ["a.ts"], read: ["b.ts"] },
    commands: [{ command: "run b1", state: "passed", entryId: id("b1") }],
    compactions: [{ entryId: id("c1"), tokensBefore: 1000, isUndone: false }],
    branchSummaries: [],
    lastAnswer: { entryId: id("a3"), text: "It works." },
  });
  expect(diff.a.words.said.map(({ text }) => text)).toEqual([
    "try the cache",
    expect.stringContaining("run b1"),
  ]);
  expect(diff.b).toMatchObject({ turns: 1, files: { modified: [], read: ["/project/a.ts"] } });
  expect(diff.sharedFiles).toEqual(["a.ts"]);
});

test("a compaction that was taken back on the side is marked", () => {
  const { diff } = diffOf("U A | U A C(u2) Z(c1) U", "u3", "a1");
  expect(diff.a.compactions).toMatchObject([{ isUndone: true }]);
});

test("a pin is no turn", () => {
  const { diff } = diffOf('U A P"Whole cents." U A', "a2", "0");
  expect(diff.a.turns).toBe(2);
});

test("an unknown place is refused", () => {
  const { session } = history("U A");
  const compare = () => branchDiff({ session, settings, a: session.leafId, b: "nowhere" });
  expect(compare).toThrow(expect.objectContaining({ code: "tree_target_unknown" }));
});

test("Invariant: the common entries and those of a side are the path to its place, in order; no entry is on both sides", () => {
  fc.assert(
    fc.property(treeArbitrary(), fc.nat(999), fc.nat(999), (notation, first, second) => {
      const { session } = history(notation);
      const places = [null, ...session.entries().map(({ id }) => id)];
      const [a, b] = [places[first % places.length]!, places[second % places.length]!];
      const diff = branchDiff({ session, settings, a, b });
      const common = session.path(diff.commonAncestor?.id ?? null);
      expect(common).toHaveLength(diff.commonEntries);
      for (const side of [diff.a, diff.b]) {
        const whole = [...common, ...side.entries].map(({ id }) => id);
        expect(whole).toEqual(session.path(side.leafId).map(({ id }) => id));
      }
      const ofA = new Set(diff.a.entries.map(({ id }) => id));
      expect(diff.b.entries.filter(({ id }) => ofA.has(id))).toEqual([]);
      expect(branchDiff({ session, settings, a: b, b: a })).toMatchObject({ a: diff.b, b: diff.a });
    }),
  );
});
