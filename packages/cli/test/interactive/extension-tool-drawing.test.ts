import { expect, test } from "vitest";
import { withExtension } from "./extension-setup.ts";

const callsTool = {
  contextWindow: 100_000,
  turn: [{ text: "Look.", calls: [{ name: "weigh", arguments: { what: "gold" } }] }, { text: "Done." }],
};
const tool = (more: string) => `bonsai.registerTool({
  name: "weigh", description: "Weighs", parameters: { type: "object", properties: { what: { type: "string" } } },
  async execute() { return { content: [{ type: "text", text: "plain result" }], details: { grams: 12 } }; },
  ${more}
});`;

test("a tool's call and result are drawn by its renderers, which share a state", async () => {
  const { terminal, command } = await withExtension(
    tool(`
      renderCall: (args, theme, context) => (context.state.what = args.what, { render: () => ["weighs " + args.what] }),
      renderResult: (result, { isPartial, expanded }, theme, { state }) => ({
        render: () => [[state.what, result.details.grams, isPartial, expanded].join(" ")],
      }),`),
    { scenario: callsTool },
  );
  command("go");
  await terminal.until("Done.");
  const screen = await terminal.until("gold 12 false false");
  expect(screen).toContain(" ● weighs gold\n   gold 12 false false");
  expect(screen).not.toContain("plain result");
  terminal.press("ctrl+o");
  await terminal.until("gold 12 false true");
});

test("missing and failing renderers of a tool fall back to Bonsai's drawing", async () => {
  const { terminal, command } = await withExtension(
    tool(`renderShell: "self", renderCall() { throw new Error("no call"); }, renderResult: () => undefined,`),
    { scenario: callsTool },
  );
  command("go");
  await terminal.until("Done.");
  const screen = terminal.scrollback();
  expect(screen).toMatch(/● weigh/);
  expect(screen).toContain("plain result");
  expect(screen.replaceAll(/\s+/g, " ")).toContain(
    "renderCall of the tool weigh of drawn.mjs failed: no call",
  );
  expect(screen.match(/no call/g)).toHaveLength(1);
});
