import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { type DrawnComponent, type FrontEndUI, loadExtensions } from "../src/host/index.ts";
import type { Component, ExtensionFactory, Theme, ToolRenderContext } from "../src/index.ts";
import { scriptedUi } from "../src/testing/script.ts";
import { bareHost } from "./bare-host.ts";

const theme: Theme = {
  fg: (color, text) => `<${color}>${text}`,
  bg: (color, text) => `<${color}>${text}`,
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

/** A front end that keeps what it is given to draw. */
function frontEnd() {
  const shown = new Map<string, DrawnComponent | string | undefined>();
  const tui = { requestRender() {}, terminal: { columns: 80, rows: 24 } };
  const ui: FrontEndUI = {
    ...scriptedUi({}, []),
    theme,
    custom: (make, { signal }) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener("abort", () => resolve(undefined));
        const keybindings = { matches: () => false, getKeys: () => [] };
        Promise.resolve(make({ tui, keybindings, done: resolve })).then(
          (made) => shown.set("custom", made),
          reject,
        );
      }),
    showWidget: (key, make) => void shown.set(key, make(tui)),
    setWidget: (key, lines) => void shown.set(key, lines?.join()),
    setFooter: (make) =>
      void shown.set(
        "footer",
        make?.(tui, {
          getGitBranch: () => "main",
          getExtensionStatuses: () => new Map(),
          onBranchChange: () => () => {},
        }),
      ),
    setHeader: (make) => void shown.set("header", make?.(tui)),
    setWorkingMessage: (message) => void shown.set("words", message),
    getToolsExpanded: () => shown.get("fold") === "true",
    setToolsExpanded: (isExpanded) => void shown.set("fold", String(isExpanded)),
  };
  return { ui, shown };
}

async function load(factory: ExtensionFactory, ui?: FrontEndUI) {
  const host = { ...bareHost(), ...(ui === undefined ? {} : { ui }) };
  const inline = [{ name: "drawn", factory }];
  const extensions = await loadExtensions({
    ...{ host, inline, modules: {} },
    find: () => ({ extensions: [], problems: [] }),
  });
  expect(extensions.failed).toEqual([]);
  return { extensions, notices: host.notices };
}

const component = (...lines: string[]): Component => ({ render: () => lines });

test("drawing calls have no effect without a screen", async () => {
  const { ui } = frontEnd();
  const { custom, showWidget, setFooter, setHeader, setWorkingMessage, theme, ...others } = ui;
  const { getToolsExpanded, setToolsExpanded, ...dialogs } = others;
  const seen: unknown[] = [];
  const setWidget = (...args: unknown[]) => void seen.push(args);
  for (const front of [undefined, { ...dialogs, setWidget }]) {
    const { extensions } = await load((bonsai) => {
      bonsai.registerCommand("draw", {
        async handler(_args, { ui }) {
          ui.setWidget("w", () => component("w"));
          ui.setFooter(() => component("f"));
          ui.setHeader(() => component("h"));
          ui.setWorkingMessage("words");
          ui.setToolsExpanded(true);
          seen.push(ui.theme.fg("accent", "plain"), await ui.custom(() => component("c")));
          seen.push(ui.getToolsExpanded());
        },
      });
    }, front);
    await extensions.runCommand("/draw");
  }
  expect(seen).toEqual(["plain", undefined, false, "plain", undefined, false]);
});

test("an extension's drawings disappear when it is unloaded, and later ones are ignored", async () => {
  const { ui, shown } = frontEnd();
  let later = async (): Promise<unknown> => undefined;
  const { extensions } = await load((bonsai) => {
    bonsai.registerCommand("draw", {
      async handler(_args, { ui }) {
        ui.setWidget("w", (_tui, { fg }) => component(fg("accent", "w")));
        ui.setFooter((_tui, _theme, data) => component(`f ${data.getGitBranch()}`));
        ui.setHeader(() => component("h"));
        ui.setWorkingMessage("words");
        later = () => ui.custom(() => component("late"));
        await ui.custom(() => component("c"));
      },
    });
  }, ui);
  const drawing = extensions.runCommand("/draw");
  await expect.poll(() => shown.get("custom")).toBeDefined();
  const lines = [...shown].map(([key, each]) => [key, typeof each === "object" ? each.render(80) : each]);
  expect(lines).toEqual([
    ["w", ["<accent>w"]],
    ["footer", ["f main"]],
    ["header", ["h"]],
    ["words", "words"],
    ["custom", ["c"]],
  ]);
  const footer = shown.get("footer") as DrawnComponent;
  extensions.unload();
  await drawing;
  expect(footer.render(80)).toBeUndefined();
  for (const key of ["w", "footer", "header", "words"]) expect(shown.get(key)).toBeUndefined();
  shown.delete("custom");
  expect(await later()).toBeUndefined();
  expect(shown.has("custom")).toBe(false);
});

const context: ToolRenderContext = {
  ...{ args: {}, toolCallId: "1", cwd: "/project", state: {}, lastComponent: undefined, invalidate() {} },
  ...{ executionStarted: true, argsComplete: true, isPartial: false, expanded: false, isError: false },
};

test("a failing renderer is one notice, and none while the model writes arguments", async () => {
  const { extensions, notices } = await load((bonsai) => {
    bonsai.registerMessageRenderer("card", () => {
      throw new Error("no card");
    });
    bonsai.registerMessageRenderer("odd", () => 7 as never);
    bonsai.registerMessageRenderer("late", () => ({
      render() {
        throw new Error("no lines");
      },
    }));
    bonsai.registerTool({
      ...{ name: "weigh", description: "Weighs", parameters: { type: "object" } },
      execute: () => ({ content: [] }),
      renderCall: ({ what }) => component((what as string).trim()),
    });
  });
  const { renderers } = extensions;
  const draw = (customType: string) =>
    renderers.message({ customType, content: "", display: true }, { expanded: false }, theme)?.render(80);
  const call = (args: object, argsComplete: boolean) =>
    renderers
      .tool("weigh")
      ?.call(args, theme, { ...context, argsComplete })
      ?.render(80);
  for (const type of ["card", "card", "odd", "late", "late", "none"]) expect(draw(type)).toBeUndefined();
  expect(call({}, false)).toBeUndefined();
  expect(notices.map(({ code }) => code)).toEqual(Array(3).fill("extension_renderer_failed"));
  expect(call({}, true)).toBeUndefined();
  expect(call({ what: " gold " }, true)).toEqual(["gold"]);
  expect(
    renderers.tool("weigh")?.result({ content: [] }, { expanded: false, isPartial: false }, theme, context),
  ).toBe(undefined);
  expect(notices.map(({ message }) => message)).toEqual([
    expect.stringContaining("The message renderer card of inline:drawn failed: no card"),
    expect.stringContaining("with 7, but it expects a component"),
    expect.stringContaining("The message renderer late of inline:drawn failed: no lines"),
    expect.stringContaining("renderCall of the tool weigh of inline:drawn failed"),
  ]);
});

test("one of two renderers counts, and an unloaded one draws nothing", async () => {
  const { extensions, notices } = await load((bonsai) => {
    bonsai.registerEntryRenderer("mark", () => component("first"));
    const undo = bonsai.registerEntryRenderer("mark", () => component("second"));
    bonsai.registerEntryRenderer("gone", () => component("gone"))();
    undo();
    bonsai.registerEntryRenderer<string>("mark", ({ data }) => component(`third ${data}`));
  });
  const entry = {
    type: "custom",
    id: "1",
    parentId: null,
    timestamp: "",
    customType: "mark",
    data: 7,
  } as const;
  const { renderers } = extensions;
  const drawn = renderers.entry(entry, { expanded: false }, theme);
  expect(drawn?.render(80)).toEqual(["third 7"]);
  expect([renderers.hasEntry("mark"), renderers.hasEntry("gone")]).toEqual([true, false]);
  extensions.unload();
  expect([drawn?.render(80), renderers.hasEntry("mark")]).toEqual([undefined, false]);
  expect(notices).toEqual([]);
});

test("a renderer with a wrong type or function is refused alone", () =>
  everyRow([
    ["", () => undefined, "as customType"],
    ["card", "no function", "a function as renderer"],
  ])(async ([customType, renderer, wanted]) => {
    const { extensions, notices } = await load((bonsai) => {
      bonsai.registerMessageRenderer(customType, renderer as never);
      bonsai.registerEntryRenderer(customType, renderer as never);
      bonsai.registerMessageRenderer("later", () => component("later"));
    });
    expect(notices.map(({ message }) => message)).toEqual([
      expect.stringContaining(wanted),
      expect.stringContaining(wanted),
    ]);
    const later = { customType: "later", content: "", display: true };
    expect(extensions.renderers.message(later, { expanded: false }, theme)?.render(80)).toEqual(["later"]);
  }));
