import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { piModules } from "../src/index.ts";
import * as ai from "../src/modules/ai.ts";
import * as codingAgent from "../src/modules/coding-agent.ts";
import { REPLACEMENTS } from "../src/pi-modules.ts";

const modules = piModules();

afterEach(() => vi.unstubAllEnvs());

test("every module loads and exports something", () =>
  everyRow(Object.keys(modules))(async (name) =>
    expect(Object.keys(await modules[name]!()).length).toBeGreaterThan(0),
  ));

test("both scopes give the same instances", async () => {
  for (const name of ["pi-ai", "pi-coding-agent", "pi-tui", "pi-agent-core"])
    expect(modules[`@mariozechner/${name}`]).toBe(modules[`@earendil-works/${name}`]);
  const { Type } = (await modules.typebox!()) as { Type: unknown };
  expect(ai.Type).toBe(Type);
});

test("a name has either a value or a replacement, and one replacement only", async () => {
  for (const [name, replacements] of Object.entries(REPLACEMENTS)) {
    const values = await modules[`@earendil-works/${name}`]!();
    const replaced = replacements.flatMap(([names]) => names.split(" "));
    expect(replaced.filter((each) => each in values)).toEqual([]);
    expect(replaced).toEqual([...new Set(replaced)]);
  }
});

test("the folder of pi's settings is Bonsai's", () => {
  vi.stubEnv("BONSAI_HOME", "/elsewhere");
  expect(codingAgent.getAgentDir()).toBe("/elsewhere");
});

test("ids sort by their time", () => {
  const ids = [1, 2_000, 1_700_000_000_000].map((ms) => ai.uuidv7(ms));
  expect(ids.toSorted()).toEqual(ids);
  for (const id of ids)
    expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(Number.parseInt(ids[2]!.replace("-", "").slice(0, 12), 16)).toBe(1_700_000_000_000);
});

test("a thinking level is replaced by the model's level with the same effect", () => {
  const model = { provider: "anthropic", id: "m", api: "anthropic-messages", contextWindow: 200_000 };
  expect(ai.clampThinkingLevel({ ...model, reasoning: false }, "high")).toBe("off");
  expect(ai.clampThinkingLevel({ ...model, reasoning: true, maxTokens: 64_000 }, "high")).toBe("high");
});

test("the cost of a usage follows the model's prices", () => {
  const cost = { input: 2, output: 10, cacheRead: 1, cacheWrite: 4 };
  const usage = { input: 500_000, output: 100_000, cacheRead: 0, cacheWrite: 250_000, cost: {} };
  expect(ai.calculateCost({ provider: "p", id: "m", cost }, usage as never)).toEqual({
    ...{ input: 1, output: 1, cacheRead: 0, cacheWrite: 1, total: 3 },
  });
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
});

const frontMatters: [string, object, string][] = [
  ["---\nname: x\nlist: [1, 2]\n---\nBody", { name: "x", list: [1, 2] }, "Body"],
  ["---\r\nname: x\r\n---\r\nBody", { name: "x" }, "Body"],
  ["---\n---\nBody", {}, "Body"],
  ["Body\n---\nmore", {}, "Body\n---\nmore"],
  ["--- no fence", {}, "--- no fence"],
];

test("front matter is separated from the text after it", () =>
  everyRow(frontMatters)(([text, frontmatter, body]) => {
    expect(codingAgent.parseFrontmatter(text)).toEqual({ frontmatter, body });
  }));

const lineRanges: [unknown, unknown, string][] = [
  [undefined, undefined, ""],
  [5, undefined, ":5"],
  [undefined, 10, ":1-10"],
  ["5", "10", ":5-14"],
  ["x", 10, ""],
  [5, "x", ""],
];

test("the lines of a read call are shown after its path", () =>
  everyRow(lineRanges)(([offset, limit, shown]) =>
    expect(codingAgent.formatReadLineRange(offset, limit)).toBe(shown),
  ));

test("the ending of a file's name tells its language", () => {
  expect(["a.TS", "b.cjs", "c/d.py", "Makefile", "x.unknown"].map(codingAgent.getLanguageFromPath)).toEqual([
    ...["typescript", "javascript", "python", undefined, undefined],
  ]);
});

test("a class derived from CustomEditor passes the program's keys to it", () => {
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
  for (const key of ["\u0004", "o", "\u001b", "\u0004"]) editor.handleInput(key);
  expect([editor.getText(), escaped.mock.calls.length, exited.mock.calls.length]).toEqual(["O", 1, 1]);
  expect(editor.render(20)[1]).toContain("O");
});

test("a loader draws its message, and Escape aborts it", () =>
  everyRow(["\u001b", "\u001b[27u"])((key) => {
    const plain = { fg: (_color: string, text: string) => text };
    const loader = new codingAgent.BorderedLoader({}, plain, "Waiting");
    expect(loader.render(4)).toEqual(["────", " Waiting", " Esc to cancel", "────"]);
    const aborted = vi.fn();
    loader.onAbort = aborted;
    loader.handleInput("x");
    expect(loader.signal.aborted).toBe(false);
    loader.handleInput(key);
    expect([loader.signal.aborted, aborted.mock.calls.length]).toEqual([true, 1]);
  }));
