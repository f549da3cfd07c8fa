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

test("after any undoing, in whatever order, all is as if only what is left had ever been registered", () => {
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
      expect(all.declarations()).toEqual(left.declarations());
      expect(all.names).toEqual(left.names);
    }),
  );
});

test("one tool that is registered twice goes with its second undoing", () => {
  const tools = new ToolRegistry();
  const tool = saying("twice", "");
  const undos = [tools.register(tool), tools.register(tool)];
  undos[0]!();
  expect(tools.get("twice")).toBe(tool);
  undos[1]!();
  expect(tools.names).toEqual([]);
});
