import fc from "fast-check";
import { expect, test } from "vitest";
import { PickList } from "../../src/interactive/panels/pick-list.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";

function rowsOfList({ title, rows, preview }: { title: string; rows: number; preview: readonly string[] }) {
  const list = new PickList<string>({
    place: { theme: makeTheme("none"), rows, redraw() {} },
    title,
    items: Array.from({ length: 20 }, (_, at) => `item ${at}`),
    key: (item) => item,
    text: (item) => item,
    row: (label) => ({ label }),
    preview: () => preview,
    actions: [{ key: "ctrl+d", does: "reset", run() {} }],
    onPick() {},
    onCancel() {},
  });
  return list.render(40);
}

test("a title of three lines leaves space for all of the list on a low screen", () => {
  const title = `Settings, /home/${"somebody/".repeat(10)}settings.json`;
  const lines = rowsOfList({ title, rows: 20, preview: ["a", "b", "c", "d", "e"] });
  expect(lines.length).toBeLessThanOrEqual(18);
  expect(lines.join("\n")).toContain(" › item 0");
  expect(lines.join("\n")).toContain("a\n");
});

test("law: a list is never higher than the screen above the footer", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 14, max: 60 }),
      fc.integer({ min: 0, max: 120 }),
      fc.integer({ min: 0, max: 12 }),
      (rows, letters, previewed) => {
        const preview = Array.from({ length: previewed }, (_, at) => `line ${at}`);
        const lines = rowsOfList({ title: "x".repeat(letters), rows, preview });
        expect(lines.length).toBeLessThanOrEqual(rows - 2);
      },
    ),
    { examples: [[14, 118, 0]] },
  );
});
