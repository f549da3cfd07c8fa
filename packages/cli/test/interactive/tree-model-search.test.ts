import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { branchy, treeOf } from "./tree-setup.ts";

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

  test("selects the first row without such an ancestor", () => {
    const { model, selected, readAll, goTo } = treeOf(branchy);
    readAll();
    goTo("u1");
    model.setSearch("deep");
    expect(selected()).toBe("u3");
  });

  test("a filter and a search reset the folds", () =>
    everyRow(["filter", "search"] as const)((change) => {
      const { model, shown, readAll, goTo } = treeOf(branchy);
      readAll();
      goTo("u2");
      model.foldOrUp();
      if (change === "filter") {
        model.setFilter("all");
        model.setFilter("default");
      } else {
        model.setSearch("e");
        model.setSearch("");
      }
      expect(shown()).toBe("u1 a1 u5 a5 u2 a2 u3 a3 u4 a4");
    }));

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

describe("a text deep inside of an entry", () => {
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
