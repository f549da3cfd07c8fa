import type { ExtensionContext, ExtensionUI, Theme } from "@bonsai-agent/extension";
import { emptyUsage } from "@bonsai-agent/messages";
import { afterEach, expect, test, vi } from "vitest";
import { piUi } from "../src/context.ts";
import { bonsaiProvider } from "../src/models/provider.ts";
import { PromptEvents } from "../src/pi-extension.ts";
import type { PiTheme } from "../src/theme.ts";
import { all } from "./all.ts";

afterEach(() => vi.unstubAllEnvs());

const theme: Theme = {
  fg: (color, text) => `<${color}>${text}</>`,
  bg: (color, text) => `<${color}>${text}</>`,
  bold: (text) => text,
  italic: (text) => text,
  underline: (text) => text,
  inverse: (text) => text,
  strikethrough: (text) => text,
  name: "test",
  appearance: "dark",
  getFgAnsi: (color) => `<${color}>`,
  getBgAnsi: (color) => `<${color}>`,
  getColorMode: () => "256color",
};

function ui(parts: object = {}, mode: ExtensionContext["mode"] = "rpc") {
  const calls: unknown[][] = [];
  const base = {
    select: async (...args: unknown[]) => void calls.push(["select", ...args]),
    theme,
    custom: async () => undefined,
    setFooter: () => {},
    setHeader: () => {},
    setTheme: (name: string) => calls.push(["setTheme", name]) > 0,
    setEditorComponent: (factory: unknown) => void calls.push(["setEditorComponent", factory]),
    getEditorText: () => "typed ",
    setEditorText: (text: string) => void calls.push(["setEditorText", text]),
    setWidget: (...args: unknown[]) => void calls.push(["setWidget", ...args]),
    ...parts,
  };
  const prompts = new PromptEvents();
  const laid = piUi({ mode, ui: base as unknown as ExtensionUI } as ExtensionContext, { prompts });
  return { ui: laid as unknown as Record<string, (...args: unknown[]) => unknown>, calls, prompts };
}

test("what is pasted stands behind what was typed; a widget goes on as it is", () => {
  const { ui: pi, calls } = ui();
  pi.pasteToEditor!("text");
  pi.setWidget!("a", ["line"], { placement: "belowEditor" });
  pi.setWidget!("a", undefined);
  expect(calls).toEqual([
    ["setEditorText", "typed text"],
    ["setWidget", "a", ["line"], { placement: "belowEditor" }],
    ["setWidget", "a", undefined, undefined],
  ]);
});

test("a theme that is asked for has what pi's have; what is set goes on as it is", () => {
  const known = { getTheme: (name: string) => (name === "dark" ? theme : undefined) };
  const { ui: pi, calls } = ui(known);
  const dark = pi.getTheme!("dark") as unknown as PiTheme;
  expect(dark.getThinkingBorderColor("high")("x")).toBe("<thinkingHigh>x</>");
  expect(dark.getBashModeBorderColor()("x")).toBe("<bashMode>x</>");
  expect(dark.style("x", { fg: "accent", bg: "selectedBg" })).toBe("<selectedBg><accent>x</></>");
  expect([dark.name, dark.getFgAnsi("dim"), dark.getColorMode()]).toEqual(["test", "<dim>", "256color"]);
  expect(pi.getTheme!("solarized")).toBeUndefined();
  for (const wanted of ["light", dark as never]) pi.setTheme!(wanted);
  expect(calls).toEqual([
    ["setTheme", "light"],
    ["setTheme", dark],
  ]);
});

test("an editor is made with pi's names of the keys, and can be asked for", () => {
  const asked: unknown[] = [];
  const { ui: pi, calls } = ui();
  const factory = (
    _tui: unknown,
    _theme: unknown,
    keys: { matches(data: string, action: string): boolean },
  ) => keys.matches("key", "app.interrupt");
  expect(pi.getEditorComponent!()).toBeUndefined();
  pi.setEditorComponent!(factory);
  expect(pi.getEditorComponent!()).toBe(factory);
  const [[, wrapped]] = calls as [[string, typeof factory]];
  wrapped("tui", {}, { matches: (_data, action) => asked.push(action) > 0 });
  expect(asked).toEqual(["interrupt"]);
  pi.setEditorComponent!(undefined);
  expect([pi.getEditorComponent!(), calls.at(-1)]).toEqual([undefined, ["setEditorComponent", undefined]]);
});

test("a component is made with pi's theme and pi's names of the keys", async () => {
  const asked: unknown[] = [];
  const keybindings = {
    matches: (_data: string, action: string) => asked.push(action) > 0,
    getKeys: () => [],
  };
  const done = vi.fn();
  const { ui: pi } = ui({
    custom: (factory: (...args: unknown[]) => unknown) => factory("tui", theme, keybindings, done),
  });
  await pi.custom!((tui: string, given: PiTheme, keys: typeof keybindings, end: (value: string) => void) => {
    expect(tui).toBe("tui");
    expect(given.fg("accent", "text")).toBe("<accent>text</>");
    expect(given.getFgAnsi("accent")).toBe("<accent>");
    expect(given.getThinkingBorderColor("high")("─")).toBe("<thinkingHigh>─</>");
    keys.matches("key", "app.tools.expand");
    keys.matches("key", "tui.select.cancel");
    end("value");
    return { render: () => [] };
  });
  expect(asked).toEqual(["expand", "tui.select.cancel"]);
  expect(done).toHaveBeenCalledWith("value");
});

test.each([
  ["tui", ["custom"]],
  ["rpc", []],
] as const)("in the mode %s, waiting at a component is the events %j", async (mode, expected) => {
  const { ui: pi, prompts } = ui({}, mode);
  const seen: string[] = [];
  prompts.on("ui_prompt_start", ({ kind }) => seen.push(kind));
  await pi.custom!(() => ({ render: () => [] }));
  expect(seen).toEqual(expected);
});

test("a question that fails has ended too", async () => {
  const { ui: pi, prompts } = ui({ input: () => Promise.reject(new Error("gone")) });
  const seen: string[] = [];
  const undo = prompts.on("ui_prompt_end", ({ kind, title }) => seen.push(`${kind} ${title}`));
  await expect(pi.input!("Name")).rejects.toThrow("gone");
  undo();
  await pi.select!("Which", []);
  expect(seen).toEqual(["input Name"]);
});

const notifyOnce = vi.fn();

test.each([
  ["plain-key", "plain-key"],
  ["$SOME_KEY", "$SOME_KEY"],
  [`${"$"}{SOME_KEY}`, "$SOME_KEY"],
  ["SOME_KEY", "$SOME_KEY"],
  ["OTHER_KEY", "OTHER_KEY"],
  ["key-$SOME_KEY", "key-secret"],
  ["$$SOME_KEY-$!", "$SOME_KEY-!"],
  ["$OTHER_KEY", "$OTHER_KEY"],
  [`key-${"$"}{OTHER_KEY}`, "$OTHER_KEY"],
])("a provider's key %s is %s here", (apiKey, expected) => {
  vi.stubEnv("SOME_KEY", "secret");
  expect(bonsaiProvider("box", { apiKey }, notifyOnce).options.apiKey).toBe(expected);
});

test("a key that goes into a header goes there with each request", () => {
  vi.stubEnv("SOME_KEY", "secret");
  const given = { apiKey: "$SOME_KEY", authHeader: true, headers: { "x-a": "1" } };
  const { options } = bonsaiProvider("box", given, notifyOnce);
  expect(options).toMatchObject(given);
});

test("headers have the values of their variables; one whose variable is not set is left out", () => {
  vi.stubEnv("SOME_KEY", "secret");
  const headers = { a: "Bearer $SOME_KEY", b: "Bearer $OTHER_KEY", c: "5 $" };
  const { options } = bonsaiProvider("box", { headers, models: [{ id: "m", headers }] }, notifyOnce);
  const sent = { a: "Bearer secret", c: "5 $" };
  expect([options.headers, options.models?.[0]?.headers]).toEqual([sent, sent]);
  expect(notifyOnce).toHaveBeenCalledWith("header box b", expect.stringContaining("the variable OTHER_KEY"));
});

test("a provider object brings its own name, models and this", async () => {
  const answer = {
    role: "assistant" as const,
    content: [],
    api: "mine",
    provider: "own",
    model: "m",
    usage: emptyUsage(),
    stopReason: "stop",
    timestamp: 0,
  };
  const asked: unknown[] = [];
  const provider = {
    id: "own",
    baseUrl: "http://own.invalid",
    secret: "kept",
    getModels() {
      return [{ id: "m", name: this.secret }];
    },
    streamSimple(...args: unknown[]) {
      asked.push([this.secret, ...args]);
      return streamOf([{ type: "done" as const, reason: "stop", message: answer }]);
    },
  };
  const { name, options } = bonsaiProvider(provider as never, undefined, notifyOnce);
  expect([name, options.models]).toEqual(["own", [{ id: "m", name: "kept" }]]);
  const signal = new AbortController().signal;
  const tools = [{ name: "t", description: "", parameters: {} }];
  const model = { provider: "own", id: "m", api: "extension", reasoning: true, input: ["text"] as const };
  const request = {
    model: { ...model, baseUrl: "" },
    purpose: "turn" as const,
    systemPrompt: "P",
    messages: [{ role: "user" as const, content: "hi", timestamp: 0 }],
    tools,
    maxOutputTokens: 9,
    thinking: "high" as const,
    signal,
  };
  const stream = options.stream!(request, undefined as never);
  expect(await all(stream as AsyncIterable<unknown>)).toEqual([{ type: "done", message: answer }]);
  expect(asked).toMatchObject([
    [
      "kept",
      { id: "m", provider: "own", name: "kept" },
      {
        systemPrompt: "P",
        tools,
        messages: [{ role: "system", content: "P", toolsAdded: tools }, { role: "user" }],
      },
      { signal, maxTokens: 9, reasoning: "high" },
    ],
  ]);
});

async function* streamOf<Item>(items: Item[]): AsyncIterable<Item> {
  yield* items;
}

test("what Bonsai does not do with a provider is a notice, and a call without options refused", () => {
  notifyOnce.mockClear();
  bonsaiProvider("box", { refreshModels: () => {} }, notifyOnce);
  expect(notifyOnce.mock.calls.map(([thing]) => thing)).toEqual(["models box"]);
  for (const args of [["box"], ["box", null], [null], [{}], ["", {}]] as unknown as [string, object][])
    expect(() => bonsaiProvider(args[0], args[1], notifyOnce)).toThrow(
      expect.objectContaining({ code: "pi_provider_invalid" }),
    );
});
