import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { TreeModel } from "../../src/interactive/tree/tree-model.ts";
import { isWork } from "../../src/views/tree-view.ts";
import { goTo, treeOf } from "./tree-setup.ts";

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

test("Law: the selection is a visible row after any keys", () => {
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

test("Law: a search typed letter by letter finds what it finds at once", () => {
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

test("Law: every entry is reached with the filter of all, parents before children", () => {
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

test("Law: to fold and to unfold changes nothing; a fold hides what hangs below, and nothing else", () => {
  fc.assert(
    fc.property(trees, fc.nat(), fc.nat(4), ({ model }, pick, filtersOn) => {
      model.nextFilter(filtersOn);
      const before = [...model.rows];
      const folding = before.filter((row) => model.canFold(row));
      if (folding.length === 0) return;
      const at = folding[pick % folding.length]!;
      goTo(model, at);
      model.foldOrUp();
      expect(model.rows).toHaveLength(before.length - model.layout.below(at));
      expect(model.selected).toBe(at);
      model.unfoldOrDown();
      expect(model.rows).toEqual(before);
    }),
  );
});

test("Law: the outline without parsing is the outline", () => {
  fc.assert(
    fc.property(trees, ({ session }) => {
      expect(session.tree().entries).toEqual(session.tree({ isParsed: true }).entries);
    }),
  );
});

test("Law: no work is left exactly where nothing but notes lies between", () => {
  fc.assert(
    fc.property(trees, ({ tree, model, session }) => {
      const path = new Set(session.path().map(({ id }) => id));
      tree.entries.forEach((entry, at) => {
        if (!path.has(entry.id) || entry.kind === "user" || entry.type === "custom_message") return;
        const ids = session.path().map(({ id }) => id);
        const after = new Set(ids.slice(ids.indexOf(entry.id) + 1));
        expect(model.leavesWork(at)).toBe(tree.entries.some((each) => after.has(each.id) && isWork(each)));
      });
    }),
  );
});

test("Law: partly read entries give the same undone compactions", () => {
  fc.assert(
    fc.property(treeArbitrary(), (notation) => {
      const { session } = history(notation);
      const read = session.tree({ isParsed: true });
      const quick = session.tree();
      for (const at of read.entries.keys()) expect(quick.isUndone(at)).toBe(read.isUndone(at));
    }),
  );
});
