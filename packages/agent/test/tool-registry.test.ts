import fc from "fast-check";
import { expect, test } from "vitest";
import { type Tool, ToolRegistry } from "../src/index.ts";

function saying(name: string, description: string): Tool {
  return {
    name,
    description,
    parameters: { type: "object", properties: {} },
    execute: async () => ({ content: [] }),
  };
}

test("after removals in any order, the registry has the remaining tools, in the order of their first registration", () => {
  const entry = fc.record({ name: fc.constantFrom("a", "b", "c"), isKept: fc.boolean(), at: fc.double() });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 12 }), (entries) => {
      const all = new ToolRegistry();
      const undos = entries.map(({ name }, index) => all.register(saying(name, String(index))));
      const gone = entries.flatMap(({ isKept, at }, index) => (isKept ? [] : [{ at, index }]));
      for (const { index } of gone.sort((one, two) => one.at - two.at)) {
        undos[index]!();
        undos[index]!();
      }
      const left = new ToolRegistry();
      for (const [index, { name, isKept }] of entries.entries())
        if (isKept) left.register(saying(name, String(index)));
      const places: string[] = [...new Set(entries.map(({ name }) => name))];
      const placed = left.declarations().toSorted((a, b) => places.indexOf(a.name) - places.indexOf(b.name));
      expect(all.declarations()).toEqual(placed);
      expect(all.names).toEqual(placed.map(({ name }) => name));
    }),
  );
});

test("a tool that was registered twice disappears at its second removal", () => {
  const tools = new ToolRegistry();
  const tool = saying("twice", "");
  const undos = [tools.register(tool), tools.register(tool)];
  undos[0]!();
  expect(tools.get("twice")).toBe(tool);
  undos[1]!();
  expect(tools.names).toEqual([]);
});
