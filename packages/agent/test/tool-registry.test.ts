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

test("after removals in any order, the registry has the remaining tools, sorted by name", () => {
  const entry = fc.record({ name: fc.constantFrom("a", "b", "B"), isKept: fc.boolean(), at: fc.double() });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 12 }), (entries) => {
      const tools = new ToolRegistry();
      const undos = entries.map(({ name }, index) => tools.register(saying(name, String(index))));
      const gone = entries.flatMap(({ isKept, at }, index) => (isKept ? [] : [{ at, index }]));
      for (const { index } of gone.sort((one, two) => one.at - two.at)) {
        undos[index]!();
        undos[index]!();
      }
      const left = ["B", "a", "b"].flatMap((name) => {
        const index = entries.findLastIndex((entry) => entry.name === name && entry.isKept);
        return index < 0 ? [] : [{ name, description: String(index) }];
      });
      expect(tools.declarations()).toMatchObject(left);
      expect(tools.names).toEqual(left.map(({ name }) => name));
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
