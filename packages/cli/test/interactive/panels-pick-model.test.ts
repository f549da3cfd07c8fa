import fc from "fast-check";
import { expect, test } from "vitest";
import { PickList, type PickListOptions } from "../../src/interactive/panels/pick-list.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";

function model(items: readonly string[], rest: Partial<PickListOptions<string>> = {}) {
  return new PickList<string>({
    place: { theme: makeTheme("none"), rows: 30, redraw() {} },
    title: "",
    items,
    row: (label) => ({ label }),
    onPick() {},
    onCancel() {},
    ...rest,
  });
}

test("every word of the query stands in a match, in any order, and matches stay in their order", () => {
  const picks = model(["fix the parser", "parse a fixture", "write docs"]);
  picks.setQuery("FIX pars");
  expect(picks.matches).toEqual(["fix the parser", "parse a fixture"]);
});

test("items with the query's letters match if no item has its words", () => {
  const picks = model(["openai/gpt-4.1", "anthropic/claude-opus-4-8", "openai/gpt-4o"]);
  picks.setQuery("gpt4o");
  expect(picks.matches[0]).toBe("openai/gpt-4o");
});

test("a query selects its best match; taken back, the selected one stays selected", () => {
  const picks = model(["a", "b", "bc", "c"], { selected: "a" });
  picks.setQuery("b");
  expect(picks.selected).toBe("b");
  picks.move(1);
  picks.setQuery("");
  expect(picks.selected).toBe("bc");
});

test("new items keep the selection, or select a neighbour", () => {
  const picks = model(["a", "b", "c"], { selected: "b" });
  picks.setItems(["x", "a", "b", "c"]);
  expect(picks.selected).toBe("b");
  picks.setItems(["x", "a", "c"]);
  expect(picks.selected).toBe("c");
  picks.setItems([]);
  expect(picks.selected).toBeUndefined();
});

test("one step goes round, a page stays at the ends", () => {
  const picks = model(["a", "b", "c"]);
  picks.move(-1);
  expect(picks.selected).toBe("c");
  picks.move(1);
  expect(picks.selected).toBe("a");
  picks.move(10);
  expect(picks.selected).toBe("c");
  picks.move(-10);
  expect(picks.selected).toBe("a");
});

test("items that are found otherwise stand beside those that hold the query, in their order", () => {
  const found = new Set(["b"]);
  const picks = model(["a zebra", "b", "c zebra", "z e b r a"], {
    query: "zebra",
    isFound: (item) => found.has(item),
  });
  expect(picks.matches).toEqual(["a zebra", "b", "c zebra"]);
  expect(picks.matches.map((item) => picks.hasQuery(item))).toEqual([true, false, true]);
  picks.setQuery("nothing");
  expect(picks.matches).toEqual(["b"]);
  found.clear();
  picks.setQuery("zbr");
  expect(picks.matches).toEqual(["z e b r a", "a zebra", "c zebra"]);
});

test("law: the selected item is always in the window, and the window is as full as it can be", () => {
  const step = fc.oneof(
    fc.integer({ min: -30, max: 30 }).map((by) => (picks: PickList<string>) => picks.move(by)),
    fc
      .constantFrom("", "1", "12", "nothing")
      .map((query) => (picks: PickList<string>) => picks.setQuery(query)),
    fc.nat(40).map((many) => (picks: PickList<string>) => picks.setItems(numbers(many))),
  );
  fc.assert(
    fc.property(fc.nat(40), fc.array(step), fc.integer({ min: 1, max: 15 }), (many, steps, rows) => {
      const picks = model(numbers(many));
      for (const go of steps) {
        go(picks);
        const { first, items } = picks.window(rows);
        expect(items.length).toBe(Math.min(rows, picks.matches.length));
        if (picks.selected !== undefined) expect(items).toContain(picks.selected);
        expect(items[0]).toBe(picks.matches[first]);
      }
    }),
  );
});

function numbers(many: number): string[] {
  return Array.from({ length: many }, (_, at) => String(at));
}
