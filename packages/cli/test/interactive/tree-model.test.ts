import { everyRow, history } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { TreeModel } from "../../src/interactive/tree/tree-model.ts";
import { branchy, treeOf } from "./tree-setup.ts";

describe("the rows", () => {
  test("the active branch comes first, each run below its branch", () => {
    const { shown, selected, model, at, nameAt } = treeOf(branchy);
    expect(shown()).toBe("u1 a1 u5 a5 u2 a2 u3 a3 u4 a4");
    expect(selected()).toBe("a5");
    expect(nameAt(model.here)).toBe("a5");
    const { layout } = model;
    expect(model.rows.map((row) => layout.isBranch(row))).toEqual([
      false,
      false,
      true,
      false,
      true,
      false,
      true,
      false,
      true,
      false,
    ]);
    expect(layout.isLastSibling(at("u5"))).toBe(false);
    expect(layout.isLastSibling(at("u2"))).toBe(true);
  });

  test("each filter shows its own entries", () =>
    everyRow([
      ["default", "u1 a1 t1 a2 c1 s1 x1"],
      ["no tools", "u1 a2 c1 s1 x1"],
      ["user only", "u1"],
      ["labelled", ""],
    ] as const)(([filter, expected]) => {
      const { model, shown, readAll } = treeOf('U A(t1)"" T1 A m k i p C(u1) S X');
      model.setFilter(filter);
      readAll();
      expect(shown()).toBe(expected);
    }));

  test("all shows notes too, and a label is found by its filter", () => {
    const { model, shown, at } = treeOf("U A m k i p");
    expect(shown()).toBe("u1 a1");
    model.setFilter("all");
    expect(model.rows).toHaveLength(6);
    model.setFilter("labelled");
    expect(model.selected).toBeUndefined();
    model.setLabel(at("a1"), "here");
    expect(shown()).toBe("a1");
    model.setLabel(at("a1"), undefined);
    expect(shown()).toBe("");
  });

  test("a message that only the model reads is a note: it has a row only in the filter all", () => {
    const { session, id } = history("U A");
    const forModel = { customType: "bonsai.budget", content: "[Context: 53% used.]", display: false };
    session.append([
      { type: "custom_message", ...forModel },
      { type: "custom_message", customType: "other", content: "For the user too.", display: true },
      { type: "custom_message", ...forModel },
    ]);
    const model = new TreeModel({ tree: session.tree(), leafId: session.leafId });
    const kinds = () => model.rows.map((row) => model.entryAt(row).kind);
    expect(kinds()).toEqual(["user", "assistant", "extension"]);
    expect(model.isHere(2)).toBe(false);
    expect(model.leavesWork(model.tree.entries.findIndex((entry) => entry.id === id("a1")))).toBe(true);
    model.setFilter("all");
    expect(kinds()).toEqual(["user", "assistant", "note", "extension", "note"]);
  });

  test("an empty session has nothing to show, and no key does harm", () => {
    const { session } = history("");
    const model = new TreeModel({ tree: session.tree(), leafId: null });
    model.move(1);
    model.foldOrUp();
    model.unfoldOrDown();
    model.nextFilter();
    model.setSearch("x");
    expect([model.rows, model.selected, model.here]).toEqual([[], undefined, -1]);
  });
});

describe("folds", () => {
  test("left folds where a segment begins, else goes to its beginning; right unfolds, else goes on", () => {
    const { model, shown, selected } = treeOf(branchy);
    model.foldOrUp();
    expect(selected()).toBe("u5");
    model.foldOrUp();
    expect([shown(), selected()]).toEqual(["u1 a1 u5 u2 a2 u3 a3 u4 a4", "u5"]);
    model.unfoldOrDown();
    expect([shown(), selected()]).toEqual(["u1 a1 u5 a5 u2 a2 u3 a3 u4 a4", "u5"]);
    model.unfoldOrDown();
    expect(selected()).toBe("u2");
    model.foldOrUp();
    expect(shown()).toBe("u1 a1 u5 a5 u2");
    model.foldOrUp();
    expect(selected()).toBe("u1");
    model.foldOrUp();
    expect(shown()).toBe("u1");
    model.unfoldOrDown();
    expect(shown()).toBe("u1 a1 u5 a5 u2");
  });

  test("an entry that appears within a fold does not unfold it", () => {
    const { model, shown, selected, goTo, at } = treeOf(branchy);
    for (const entry of ["u2", "u3"]) model.setLabel(at(entry), "kept");
    goTo("a2");
    model.setFilter("labelled");
    expect([shown(), selected()]).toEqual(["u2 u3", "u2"]);
    model.foldOrUp();
    model.setLabel(at("a2"), "late");
    expect([shown(), selected()]).toEqual(["u2", "u2"]);
    model.unfoldOrDown();
    expect([shown(), selected()]).toEqual(["u2 a2 u3", "a2"]);
  });
});

describe("the abandoned work", () => {
  test("knows for each entry if going there leaves work", () =>
    everyRow([
      ["a1", true, false],
      ["u5", true, false],
      ["a5", false, true],
      ["u2", true, false],
      ["u1", true, false],
    ])(([name, leaves, here]) => {
      const { model, at } = treeOf(branchy.replace('"done"', '"done" m i'));
      expect(model.leavesWork(at(name))).toBe(leaves);
      expect(model.isHere(at(name))).toBe(here);
    }));

  test("only notes follow: no work is left", () => {
    const { model, at } = treeOf("U A m k i p");
    expect(model.leavesWork(at("a1"))).toBe(false);
    expect(model.isHere(at("a1"))).toBe(true);
  });
});

test("a tree of many branches one in the other is laid out without recursion", () => {
  const notation = `U A ${Array.from({ length: 300 }, (_, at) => `^a1 U"${at}"`).join(" ")} ${"U A ".repeat(300)}`;
  const { model } = treeOf(notation);
  expect(model.rows).toHaveLength(2 + 300 + 600);
  model.move(Number.NEGATIVE_INFINITY);
  model.foldOrUp();
  expect(model.rows).toHaveLength(1);
});

test("a compaction that was made anew is marked, until the new one is taken back; on another branch it counts", () => {
  const { session, id } = history("U A U A C(u2) U");
  const former = id("c1");
  const isReplaced = () => {
    const tree = session.tree();
    return tree.isReplaced(tree.entries.findIndex((entry) => entry.id === former));
  };
  expect(isReplaced()).toBe(false);
  const anew = {
    summary: "Anew.",
    firstKeptEntryId: id("u2"),
    tokensBefore: 9,
    replacesCompactionId: former,
  };
  const { id: anewId } = session.append({ type: "compaction", ...anew });
  expect(isReplaced()).toBe(true);
  session.moveTo(former);
  expect(isReplaced()).toBe(false);
  session.moveTo(anewId);
  session.undoCompaction(anewId);
  expect(isReplaced()).toBe(false);
});

test("a compaction that was taken back is marked: on its own path, and on a branch that was left with it", () => {
  const undone = (notation: string) => {
    const { model, at } = treeOf(notation);
    return model.tree.isUndone(at("c1"));
  };
  expect(undone("U A C(u1) U A")).toBe(false);
  expect(undone("U A C(u1) U A Z(c1) U")).toBe(true);
  expect(undone("U A C(u1) Z(c1) U ^u1 U A")).toBe(true);
  expect(undone("U A C(u1) U Z(c1) U ^c1 U A")).toBe(false);
});
