import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isWork, treeFilters } from "../../src/interactive/tree/tree-filter.ts";
import { TreeModel } from "../../src/interactive/tree/tree-model.ts";
import { treeOutline } from "../../src/interactive/tree/tree-outline.ts";
import { sessionOutline } from "../../src/session-outline.ts";
import { sessionTree } from "../../src/session-tree.ts";

function treeOf(notation: string) {
  const { session, id, name } = history(notation);
  const tree = sessionTree(session, sessionOutline(session));
  const model = new TreeModel({ tree, leafId: session.leafId });
  const at = (entry: string) => tree.entries.findIndex((each) => each.id === id(entry));
  const nameAt = (position: number | undefined) =>
    position === undefined ? "nothing" : name(tree.entries[position]!.id);
  return {
    ...{ session, tree, model, at },
    shown: () => model.rows.map(nameAt).join(" "),
    selected: () => nameAt(model.selected),
    readAll: () => {
      while (model.searchProgress < 1) model.read(3);
      model.sift();
    },
  };
}

/** Two branches below a1, the second one active; the first one branches once more. */
const branchy = 'U"plan" A"planned" U"left" A ^a2 U"deep" A ^a2 U"deeper" A ^a1 U"right" A"done"';

describe("what is shown", () => {
  test("the active branch comes first, each run below its branch", () => {
    const { shown, selected, model, at } = treeOf(branchy);
    expect(shown()).toBe("u1 a1 u5 a5 u2 a2 u3 a3 u4 a4");
    expect(selected()).toBe("a5");
    expect(nameOf(model.here, at)).toBe("a5");
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

  test.each([
    ["default", "u1 a1 t1 a2 c1 s1 x1"],
    ["no tools", "u1 a2 c1 s1 x1"],
    ["user only", "u1"],
    ["labelled", ""],
  ] as const)("with the filter %s: %s", (filter, expected) => {
    const { model, shown, readAll } = treeOf('U A(t1)"" T1 A m k i p C(u1) S X');
    model.setFilter(filter);
    readAll();
    expect(shown()).toBe(expected);
  });

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

  test("an empty session has nothing to show, and no key does harm", () => {
    const { session } = history("");
    const model = new TreeModel({ tree: sessionTree(session, []), leafId: null });
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

  test("of an entry within a fold, the outermost fold is selected", () => {
    const { model, selected, at } = treeOf(branchy);
    model.select(at("u3"));
    model.foldOrUp();
    model.select(at("u2"));
    model.foldOrUp();
    model.select(at("a3"));
    expect(selected()).toBe("u2");
  });
});

describe("acceptance 36: filter, folds and search", () => {
  test("a selection that is hidden moves to the nearest ancestor that is shown, and comes back", () => {
    const { model, selected, readAll } = treeOf(branchy);
    readAll();
    model.setFilter("user only");
    expect(selected()).toBe("u5");
    model.setFilter("default");
    expect(selected()).toBe("a5");
    model.setSearch("plan");
    expect(selected()).toBe("a1");
    model.setSearch("planned");
    expect(selected()).toBe("a1");
    model.setSearch("nowhere");
    expect(selected()).toBe("nothing");
    model.setSearch("");
    expect(selected()).toBe("a5");
  });

  test("without such an ancestor, the first row is selected", () => {
    const { model, selected, readAll, at } = treeOf(branchy);
    readAll();
    model.select(at("u1"));
    model.setSearch("deep");
    expect(selected()).toBe("u3");
  });

  test.each(["filter", "search"] as const)("a %s resets the folds", (change) => {
    const { model, shown, readAll, at } = treeOf(branchy);
    readAll();
    model.select(at("u2"));
    model.foldOrUp();
    if (change === "filter") {
      model.setFilter("all");
      model.setFilter("default");
    } else {
      model.setSearch("e");
      model.setSearch("");
    }
    expect(shown()).toBe("u1 a1 u5 a5 u2 a2 u3 a3 u4 a4");
  });

  test("each word is searched in kind, text and label, whatever its case; what is not read yet comes later", () => {
    const { model, shown, readAll, at } = treeOf(branchy);
    model.setLabel(at("a2"), "Release 2");
    model.setSearch("DEEP user");
    expect(shown()).toBe("");
    readAll();
    expect(shown()).toBe("u3 u4");
    model.setSearch("release");
    expect(shown()).toBe("a2");
  });
});

describe("what stands deep inside of an entry", () => {
  const far = `${"so much more ".repeat(40)}`;
  const notation = `U"ask" A"${far} the Needle in the hay" U"${far}" A(t1)"look" T1"${far} another needle" A"done"`;

  test("is found, and shown in the place of the first words", () => {
    const { model, shown, readAll, at } = treeOf(notation);
    readAll();
    model.setSearch("needle");
    expect(shown()).toBe("");
    readAll();
    expect(shown()).toBe("a1 t1");
    expect(model.wordsOf(at("a1"))).toBe("…more so much more the Needle in the hay");
    model.setSearch("needle hay");
    readAll();
    expect(shown()).toBe("a1");
    model.setSearch("needle");
    readAll();
    expect(shown()).toBe("a1 t1");
    model.setFilter("no tools");
    readAll();
    expect(shown()).toBe("a1");
    model.setSearch("");
    expect(model.wordsOf(at("a1"))).toMatch(/^so much more/);
  });

  test("is found together with the kind and the label", () => {
    const { model, shown, readAll, at } = treeOf(notation);
    readAll();
    model.setSearch("needle keep");
    readAll();
    expect(shown()).toBe("");
    model.setLabel(at("t1"), "Keep");
    readAll();
    expect(shown()).toBe("t1");
    model.setSearch("needle assistant");
    readAll();
    expect(shown()).toBe("a1");
  });
});

describe("what is left behind", () => {
  test.each([
    ["a1", true, false],
    ["u5", true, false],
    ["a5", false, true],
    ["u2", true, false],
    ["u1", true, false],
  ])("going to %s leaves work: %s; is here: %s", (name, leaves, here) => {
    const { model, at } = treeOf(branchy.replace('"done"', '"done" m i'));
    expect(model.leavesWork(at(name))).toBe(leaves);
    expect(model.isHere(at(name))).toBe(here);
  });

  test("only notes follow: no work is left", () => {
    const { model, at } = treeOf("U A m k i p");
    expect(model.leavesWork(at("a1"))).toBe(false);
    expect(model.isHere(at("a1"))).toBe(true);
  });
});

describe("laws", () => {
  const trees = treeArbitrary({ maxSteps: 24, maxTokens: 6 }).map(treeOf);
  const keys = fc.array(fc.constantFrom("up", "down", "left", "right", "filter", "search", "clear", "read"), {
    maxLength: 40,
  });

  function press(model: TreeModel, key: string): void {
    if (key === "up") model.move(-1);
    else if (key === "down") model.move(1);
    else if (key === "left") model.foldOrUp();
    else if (key === "right") model.unfoldOrDown();
    else if (key === "filter") model.nextFilter();
    else if (key === "search") model.setSearch(`${model.search}a`);
    else if (key === "clear") model.setSearch("");
    else {
      model.read(3);
      model.sift();
    }
  }

  test("whatever is pressed, the selection is a row that is shown", () => {
    fc.assert(
      fc.property(trees, keys, ({ model }, pressed) => {
        for (const key of pressed) {
          press(model, key);
          expect(model.selectedRow).toBe(model.rows.length === 0 ? -1 : model.rows.indexOf(model.selected!));
          for (const row of model.rows)
            if (model.isFolded(row)) expect(model.layout.isSegmentStart(row)).toBe(true);
        }
      }),
    );
  });

  test("a search typed letter by letter finds what it finds at once", () => {
    const searches = fc.string({ unit: fc.constantFrom("a", "s", "u", "e", " ", "r"), maxLength: 5 });
    fc.assert(
      fc.property(trees, searches, ({ model, readAll }, search) => {
        readAll();
        for (let end = 1; end <= search.length; end += 1) {
          model.setSearch(search.slice(0, end));
          if (end % 2 === 0) readAll();
        }
        readAll();
        const typed = [...model.rows];
        model.setSearch("");
        model.setSearch(search);
        readAll();
        expect(typed).toEqual(model.rows);
      }),
    );
  });

  test("every entry is reached with the filter of all, parents before children", () => {
    fc.assert(
      fc.property(trees, ({ tree, model }) => {
        model.setFilter("all");
        const rows = new Set(model.rows);
        expect(rows.size).toBe(model.rows.length);
        tree.entries.forEach((entry, at) => {
          if (!entry.isLeafRecord) expect(rows.has(at)).toBe(true);
          for (const child of tree.children(at))
            expect(model.rows.indexOf(child)).toBeGreaterThan(model.rows.indexOf(at));
        });
      }),
    );
  });

  test("to fold and to unfold changes nothing; a fold hides what hangs below, and nothing else", () => {
    fc.assert(
      fc.property(trees, fc.nat(), fc.constantFrom(...treeFilters), ({ model }, pick, filter) => {
        model.setFilter(filter);
        const before = [...model.rows];
        const folding = before.filter((row) => model.canFold(row));
        if (folding.length === 0) return;
        const at = folding[pick % folding.length]!;
        model.select(at);
        model.foldOrUp();
        expect(model.rows).toHaveLength(before.length - model.layout.below(at));
        expect(model.selected).toBe(at);
        model.unfoldOrDown();
        expect(model.rows).toEqual(before);
      }),
    );
  });

  test("the outline without parsing is the outline", () => {
    fc.assert(
      fc.property(trees, ({ session }) => {
        expect(treeOutline(session)).toEqual(sessionOutline(session));
      }),
    );
  });

  test("no work is left exactly where nothing but notes lies between", () => {
    fc.assert(
      fc.property(trees, ({ tree, model, session }) => {
        const path = new Set(session.path().map(({ id }) => id));
        tree.entries.forEach((entry, at) => {
          if (!path.has(entry.id) || entry.kind === "user" || entry.type === "custom_message") return;
          const after = session.path().slice(session.path().findIndex(({ id }) => id === entry.id) + 1);
          expect(model.leavesWork(at)).toBe(after.some(isWork));
        });
      }),
    );
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

function nameOf(position: number, at: (name: string) => number): string {
  return (
    ["u1", "a1", "u2", "a2", "u3", "a3", "u4", "a4", "u5", "a5"].find((name) => at(name) === position) ??
    "none"
  );
}

test("a compaction that was taken back is marked: on its own path, and on a branch that was left with it", () => {
  const undone = (notation: string) => {
    const { model, at } = treeOf(notation);
    return model.isUndone(at("c1"));
  };
  expect(undone("U A C(u1) U A")).toBe(false);
  expect(undone("U A C(u1) U A Z(c1) U")).toBe(true);
  expect(undone("U A C(u1) Z(c1) U ^u1 U A")).toBe(true);
  expect(undone("U A C(u1) U Z(c1) U ^c1 U A")).toBe(false);
});

test("Law: what is known of entries without reading them whole says the same of what was taken back", () => {
  fc.assert(
    fc.property(treeArbitrary(), (notation) => {
      const { session } = history(notation);
      const read = sessionTree(session, sessionOutline(session));
      const quick = sessionTree(session, treeOutline(session));
      for (const at of read.entries.keys()) expect(quick.isUndone(at)).toBe(read.isUndone(at));
    }),
  );
});
