import { afterEach, expect, test, vi } from "vitest";
import { piModules } from "../src/index.ts";
import * as agentCore from "../src/modules/agent-core.ts";
import * as ai from "../src/modules/ai.ts";
import * as codingAgent from "../src/modules/coding-agent.ts";
import { insteadOfAgentCore, insteadOfAi, insteadOfCodingAgent } from "../src/pi-modules.ts";

const modules = piModules();

afterEach(() => vi.unstubAllEnvs());

test.each(Object.keys(modules))("%s loads and exports something", async (name) => {
  expect(Object.keys(await modules[name]!()).length).toBeGreaterThan(0);
});

test("both scopes give the same instances", async () => {
  for (const name of ["pi-ai", "pi-coding-agent", "pi-tui", "pi-agent-core"]) {
    expect(modules[`@mariozechner/${name}`]).toBe(modules[`@earendil-works/${name}`]);
  }
  const { Type } = (await modules.typebox!()) as { Type: unknown };
  expect(ai.Type).toBe(Type);
});

test("no name has both a value and a word on what to use instead", () => {
  const pairs = [
    [codingAgent, insteadOfCodingAgent],
    [ai, insteadOfAi],
    [agentCore, insteadOfAgentCore],
  ] as const;
  for (const [values, instead] of pairs)
    expect(Object.keys(instead).filter((name) => name in values)).toEqual([]);
});

test("the folder of pi's settings is Bonsai's", () => {
  vi.stubEnv("BONSAI_HOME", "/elsewhere");
  expect(codingAgent.getAgentDir()).toBe("/elsewhere");
});

test("models of the catalogue answer at once, under pi's names", () => {
  const model = ai.getModel("anthropic", "claude-haiku-4-5");
  expect(model).toMatchObject({ id: "claude-haiku-4-5", maxTokens: expect.any(Number), cost: { input: 1 } });
  expect(ai.getProviders()).toContain("openai");
  expect(ai.getModels("anthropic")).toContain(model);
  expect(ai.getModel("nobody", "nothing")).toBeUndefined();
  expect(ai.modelsAreEqual(model, { ...model! })).toBe(true);
  expect(ai.clampThinkingLevel({ ...model!, reasoning: false }, "high")).toBe("off");
});

test("ids sort by their time", () => {
  const ids = [1, 2_000, 1_700_000_000_000].map((ms) => ai.uuidv7(ms));
  expect(ids.toSorted()).toEqual(ids);
  for (const id of ids)
    expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(Number.parseInt(ids[2]!.replace("-", "").slice(0, 12), 16)).toBe(1_700_000_000_000);
});

test("arguments of a call are converted, or named", () => {
  const tool = {
    name: "wait",
    description: "",
    parameters: ai.Type.Object({ seconds: ai.Type.Number() }) as unknown as Record<string, unknown>,
  };
  const call = (args: Record<string, unknown>) =>
    ({ type: "toolCall", id: "1", name: "wait", arguments: args }) as const;
  expect(ai.validateToolArguments(tool, call({ seconds: "3" }))).toEqual({ seconds: 3 });
  expect(() => ai.validateToolCall([tool], call({}))).toThrow("wait do not match");
  expect(() => ai.validateToolCall([], call({}))).toThrow("Unknown tool: wait");
});

const failed = (errorMessage: string) =>
  ({ stopReason: "error", errorMessage, provider: "openai", model: "m", usage: {} }) as never;

test.each([
  [failed("Your input exceeds the context window of this model."), true],
  [failed("Too many requests"), false],
  [{ stopReason: "stop", usage: { input: 300, cacheRead: 0, cacheWrite: 0 } } as never, true],
  [{ stopReason: "stop", usage: { input: 3, cacheRead: 0, cacheWrite: 0 } } as never, false],
])("overflow %#", (answer, is) => {
  expect(ai.isContextOverflow(answer, 200)).toBe(is);
});

test("system messages add up to one prompt and one set of tools", () => {
  const tool = (name: string) => ({ name, description: "", parameters: {} });
  const messages = [
    { role: "system", content: "Base.", sections: { a: "A", b: "B" }, toolsAdded: [tool("x"), tool("y")] },
    { role: "user", content: "hi" },
    { role: "system", content: "", sections: { a: null, c: "C" }, toolsRemoved: [{ name: "x" }] },
  ];
  expect(ai.getCurrentSystemPrompt(messages)).toBe("Base.\n\nB\n\nC");
  expect(ai.getCurrentTools(messages).map(({ name }) => name)).toEqual(["y"]);
  const { messages: collapsed } = ai.collapseSystemMessages({ messages });
  expect(collapsed.map(({ role }) => role)).toEqual(["system", "user"]);
  expect(ai.getCurrentSystemPrompt(collapsed)).toBe("Base.\n\nB\n\nC");
  expect(ai.withoutInitialSystemMessage(collapsed)).toEqual([{ role: "user", content: "hi" }]);
});

test.each([
  ["---\nname: x\nlist: [1, 2]\n---\nBody", { name: "x", list: [1, 2] }, "Body"],
  ["---\r\nname: x\r\n---\r\nBody", { name: "x" }, "Body"],
  ["---\n---\nBody", {}, "Body"],
  ["Body\n---\nmore", {}, "Body\n---\nmore"],
  ["--- no fence", {}, "--- no fence"],
])("front matter of %j", (text, frontmatter, body) => {
  expect(codingAgent.parseFrontmatter(text)).toEqual({ frontmatter, body });
  expect(codingAgent.stripFrontmatter(text)).toBe(body);
});

test("an editor can be derived, and gives the keys of the program to it", () => {
  class Shouting extends codingAgent.CustomEditor {
    override handleInput(data: string): void {
      super.handleInput(data.toUpperCase());
    }
  }
  const plain = (text: string) => text;
  const selectList = {
    ...{ selectedPrefix: plain, selectedText: plain, description: plain },
    ...{ scrollInfo: plain, noMatch: plain },
  };
  const tui = { requestRender() {}, terminal: { columns: 20, rows: 10 } };
  const actions: Record<string, string> = { "\u001b": "app.interrupt", "\u0004": "app.exit" };
  const keybindings = { matches: (data: string, action: string) => actions[data] === action };
  const editor = new Shouting(tui as never, { borderColor: plain, selectList }, keybindings);
  const escaped = vi.fn();
  const exited = vi.fn();
  editor.onAction("app.interrupt", escaped);
  editor.onCtrlD = exited;
  editor.handleInput("\u0004");
  editor.handleInput("o");
  editor.handleInput("\u001b");
  editor.handleInput("\u0004");
  expect([editor.getText(), escaped.mock.calls.length, exited.mock.calls.length]).toEqual(["O", 1, 1]);
  expect(editor.render(20)[1]).toContain("O");
  expect(editor).toBeInstanceOf(codingAgent.CustomEditor);
});

test("a Theme of one's own draws with its colours, and refuses what is none", () => {
  const { Theme } = codingAgent;
  const mine = new Theme({ accent: "#0af", dim: 244, text: "" }, { selectedBg: "#102030" }, "truecolor", {
    name: "mine",
  });
  expect([mine.name, mine.appearance, mine.getColorMode()]).toEqual(["mine", "dark", "truecolor"]);
  expect(mine.fg("accent", "a")).toBe("\u001b[38;2;0;170;255ma\u001b[39m");
  expect(mine.getFgAnsi("dim")).toBe("\u001b[38;5;244m");
  expect(mine.getFgAnsi("text")).toBe("\u001b[39m");
  expect(mine.style("a", { bg: "selectedBg", bold: true })).toBe(
    "\u001b[48;2;16;32;48m\u001b[1ma\u001b[22m\u001b[49m",
  );
  expect(new Theme({ accent: "#00aaff" }, {}, "256color").getFgAnsi("accent")).toBe("\u001b[38;5;39m");
  class Mine extends Theme {}
  expect(() => new Mine({ accent: "blue" }, {}, "truecolor")).toThrow(
    expect.objectContaining({
      code: "pi_theme_invalid",
      message: expect.stringContaining('theme colour accent is "blue"'),
    }),
  );
});

test.each([
  ["as it was", "\u001b"],
  ["by its number", "\u001b[27u"],
])("a loader draws its message and is aborted by Escape, sent %s", (_how, key) => {
  const plain = { fg: (_color: string, text: string) => text };
  const loader = new codingAgent.BorderedLoader({}, plain, "Waiting");
  expect(loader.render(4)).toEqual(["────", " Waiting", " Esc to cancel", "────"]);
  const aborted = vi.fn();
  loader.onAbort = aborted;
  loader.handleInput("x");
  expect(loader.signal.aborted).toBe(false);
  loader.handleInput(key);
  expect([loader.signal.aborted, aborted.mock.calls.length]).toEqual([true, 1]);
});
