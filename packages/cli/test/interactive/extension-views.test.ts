import { expect, test } from "vitest";
import { openInteractive } from "./harness.ts";

/** Opens the interactive mode with an extension of which this is the body. */
function withExtension(body: string, options: Parameters<typeof openInteractive>[0] = {}) {
  const files = { "drawn.mjs": `export default function (bonsai) {\n${body}\n}`, ...options.files };
  const opened = openInteractive({ columns: 80, rows: 24, ...options, files, argv: ["-e", "./drawn.mjs"] });
  const command = async (text: string) => {
    opened.terminal.type(text);
    opened.terminal.press("enter");
  };
  return { ...opened, command };
}

/** A command `/show` that opens a component and says what came of it. */
const shown = (component: string, options = "{}") => `
  bonsai.registerCommand("show", { async handler(_args, ctx) {
    const value = await ctx.ui.custom((tui, theme, keys, done) => (${component}), ${options});
    ctx.ui.notify("It gave " + String(value));
  } });`;

test("a component stands in the place of the editor, has the keys, and gives a value", async () => {
  const { terminal, command } = withExtension(
    shown(`{
      typed: "",
      render(width) { return ["Typed: " + theme.fg("accent", this.typed), "x".repeat(width + 20), "a\\nb"]; },
      handleInput(data) { if (keys.matches(data, "tui.select.confirm")) done(this.typed); else this.typed += data; },
    }`),
  );
  await terminal.until("say what to do");
  await command("/show");
  await terminal.until("Typed:");
  terminal.type("abc");
  const screen = await terminal.until("Typed: abc");
  expect(screen.split("\n").filter((line) => /^x+$/.test(line))).toEqual(["x".repeat(80)]);
  expect(screen).toMatch(/^a\nb$/m);
  terminal.press("enter");
  await terminal.until("It gave abc");
  terminal.type("half a thought");
  await terminal.until("half a thought");
});

test.each([
  ["render throws", `{ render() { throw new Error("no paint"); } }`, "no paint"],
  ["render gives no lines", `{ render: () => 7 }`, "render gave number"],
  ["render gives lines that are none", `{ render: () => [{}] }`, "render gave a line that"],
  [
    "handleInput throws",
    `{ render: () => ["Press"], handleInput() { throw new Error("no hands"); } }`,
    "no hands",
  ],
  [
    "handleInput rejects",
    `{ render: () => ["Press"], async handleInput() { throw new Error("late hands"); } }`,
    "late hands",
  ],
])("where %s, a notice names it and the editor is back", async (_name, component, reason) => {
  const { terminal, command } = withExtension(shown(component));
  await terminal.until("say what to do");
  await command("/show");
  if (component.includes("Press")) {
    await terminal.until(/^Press/m);
    terminal.type("x");
  }
  await terminal.until("It gave undefined");
  const screen = await terminal.until(reason);
  expect(screen.replaceAll(/\s+/g, " ")).toContain("component of ctx.ui.custom of drawn.mjs failed");
  terminal.type("still here");
  await terminal.until("still here");
});

test.each([
  ["no component", "42", "ctx.ui.custom with 42"],
  ["a factory that throws", `(() => { throw new Error("no factory"); })()`, "no factory"],
])("%s is an error of the command", async (_name, component, reason) => {
  const { terminal, command } = withExtension(shown(component));
  await terminal.until("say what to do");
  await command("/show");
  await terminal.until((screen) => screen.replaceAll(/\s+/g, " ").includes(reason));
});

test("control characters are harmless, and of ten thousand lines the last are shown", async () => {
  const { terminal, command } = withExtension(
    shown(
      `{ render: () => [...Array(10_000).keys()].map((at) => "line " + at).concat("\\u001b[2Jwiped?\\u001b]0;t\\u0007") }`,
    ),
  );
  await terminal.until("say what to do");
  await command("/show");
  const screen = await terminal.until("wiped?");
  expect(screen).toContain("line 9999");
  expect(screen).toContain("␛[2Jwiped?");
  expect(terminal.scrollback().split("\n").length).toBeLessThan(60);
});

test("Ctrl-C leaves a component that never ends; done counts once", async () => {
  const { terminal, command } = withExtension(
    shown(`(globalThis.endTwice = () => { done("one"); done("two"); }, { render: () => ["For ever"] })`),
  );
  await terminal.until("say what to do");
  await command("/show");
  await terminal.until("For ever");
  terminal.press("ctrl+c");
  await terminal.until("It gave undefined");
  await command("/show");
  await terminal.until("For ever");
  (globalThis as unknown as { endTwice: () => void }).endTwice();
  await terminal.until("It gave one");
});

test("two at once stand one over the other; each gives its own value", async () => {
  const { terminal, command } = withExtension(`
    const ask = (ctx, name) => ctx.ui.custom((tui, theme, keys, done) => ({
      render: () => ["Question " + name],
      handleInput: (data) => done(name + data),
    }));
    bonsai.registerCommand("both", { async handler(_args, ctx) {
      ctx.ui.notify((await Promise.all([ask(ctx, "first"), ask(ctx, "second")])).join(" and "));
    } });`);
  await terminal.until("say what to do");
  await command("/both");
  expect(await terminal.until("Question second")).not.toContain("Question first");
  terminal.type("2");
  await terminal.until("Question first");
  terminal.type("1");
  await terminal.until("first1 and second2");
});

test("an overlay stands over the chat, and Esc is its own", async () => {
  const { terminal, command } = withExtension(
    shown(
      `{ render: () => ["[ over ]"], handleInput: (data) => done(data === "\\u001b" ? "escaped" : data) }`,
      `{ overlay: true, overlayOptions: { width: 20, anchor: "top-right" } }`,
    ),
  );
  await terminal.until("say what to do");
  await command("/show");
  await terminal.until("[ over ]");
  terminal.press("esc");
  await terminal.until("It gave escaped");
  expect(terminal.screen()).not.toContain("[ over ]");
});

test("a component that is open while extensions are loaded anew is gone", async () => {
  const { terminal, command } = withExtension(`
    bonsai.registerCommand("show", { async handler(_args, ctx) {
      const shown = ctx.ui.custom(() => ({ render: () => ["Open"] }));
      setTimeout(() => ctx.reload(), 0);
      await shown;
    } });`);
  await terminal.until("say what to do");
  await command("/show");
  await terminal.until("Open");
  await terminal.until((screen) => !screen.includes("Open"));
  terminal.type("typed");
  await terminal.until("typed");
});

test("the program ends while a component is open, and while one is being made", async () => {
  const { terminal, command, end } = withExtension(
    `${shown(`{ render: () => ["Open"] }`)}
    bonsai.registerCommand("never", { handler: (_args, ctx) => ctx.ui.custom(() => new Promise(() => {})) });`,
  );
  await terminal.until("say what to do");
  await command("/never");
  await command("/show");
  await terminal.until("Open");
  await end();
});

test("messages and entries are drawn by their renderers, unfolded too; one that fails is told once", async () => {
  const { terminal, command } = withExtension(`
    const lines = (...texts) => ({ render: () => texts });
    bonsai.registerMessageRenderer("card", ({ content }, { expanded }, theme) =>
      lines(theme.bold("Card: " + content), expanded ? "all of it" : "folded"));
    bonsai.registerMessageRenderer("broken", () => { throw new Error("no card"); });
    bonsai.registerMessageRenderer("nothing", () => undefined);
    bonsai.registerEntryRenderer("mark", ({ data }) => lines("Mark " + data));
    const say = (customType, content) => bonsai.sendMessage({ customType, content, display: true });
    bonsai.registerCommand("cards", { handler() {
      say("card", "ace"); say("broken", "one"); say("broken", "two"); say("nothing", "plain");
      bonsai.appendEntry("mark", 7); bonsai.appendEntry("other", 8);
    } });`);
  await terminal.until("say what to do");
  await command("/cards");
  const screen = await terminal.until("Mark 7");
  for (const text of ["Card: ace", "folded", "[broken]", "[nothing]", "plain"])
    expect(screen).toContain(text);
  expect(terminal.scrollback().match(/no card/g)).toHaveLength(1);
  terminal.press("ctrl+o");
  await terminal.until("all of it");
});

test("of ten thousand lines of a renderer two thousand are shown, each as wide as the terminal at most", async () => {
  const { terminal, command } = withExtension(`
    bonsai.registerMessageRenderer("long", () => ({
      render: (width) => [...Array(10_000).keys()].map((at) => at + " " + "w".repeat(width)),
    }));
    bonsai.registerCommand("long", { handler: () => bonsai.sendMessage({ customType: "long", content: "", display: true }) });`);
  await terminal.until("say what to do");
  await command("/long");
  const screen = await terminal.until("… 8000 more lines");
  expect(screen).toMatch(/^1999 w+$/m);
  terminal.type("still quick");
  await terminal.until("still quick");
});

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
  const { terminal, command } = withExtension(
    tool(`
      renderCall: (args, theme, context) => (context.state.what = args.what, { render: () => ["weighs " + args.what] }),
      renderResult: (result, { isPartial, expanded }, theme, { state }) => ({
        render: () => [[state.what, result.details.grams, isPartial, expanded].join(" ")],
      }),`),
    { scenario: callsTool },
  );
  await terminal.until("say what to do");
  await command("go");
  await terminal.until("Done.");
  const screen = await terminal.until("gold 12 false false");
  expect(screen).toContain(" ● weighs gold\n   gold 12 false false");
  expect(screen).not.toContain("plain result");
  terminal.press("ctrl+o");
  await terminal.until("gold 12 false true");
});

test("what a tool's renderers leave out, or fail at, is drawn as ever", async () => {
  const { terminal, command } = withExtension(
    tool(`renderShell: "self", renderCall() { throw new Error("no call"); }, renderResult: () => undefined,`),
    { scenario: callsTool },
  );
  await terminal.until("say what to do");
  await command("go");
  await terminal.until("Done.");
  const screen = terminal.scrollback();
  expect(screen).toMatch(/● weigh/);
  expect(screen).toContain("plain result");
  expect(screen.replaceAll(/\s+/g, " ")).toContain(
    "renderCall of the tool weigh of drawn.mjs failed: no call",
  );
  expect(screen.match(/no call/g)).toHaveLength(1);
});

test("widget, header, footer and the words beside the spinner stand there until they are taken away", async () => {
  const { terminal, command } = withExtension(
    `
    const lines = (...texts) => () => ({ render: () => texts, dispose() { globalThis.disposed = texts[0]; } });
    bonsai.registerCommand("on", { handler(_args, { ui }) {
      ui.setWidget("w", lines("The widget"));
      ui.setHeader(lines("The header"));
      ui.setFooter((tui, theme, data) => ({ render: () => ["The footer " + data.getGitBranch()] }));
      ui.setWorkingMessage("\\u001b[31mPondering\\u001b[39m");
    } });
    bonsai.registerCommand("off", { handler(_args, { ui }) {
      ui.setWidget("w", undefined); ui.setHeader(undefined); ui.setFooter(undefined); ui.setWorkingMessage();
    } });
    bonsai.registerCommand("bad", { handler(_args, { ui }) {
      ui.setFooter(() => ({ render() { throw new Error("no foot"); } }));
    } });`,
    { scenario: { contextWindow: 100_000, turn: [{ text: "slow words", delayMs: 40, chunkChars: 1 }] } },
  );
  await terminal.until("say what to do");
  await command("/on");
  const on = await terminal.until("The footer null");
  expect(on).toContain("The widget");
  expect(on).toContain("The header");
  expect(on).not.toContain("/100k");
  await command("go");
  await terminal.until(/⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏/);
  expect(await terminal.until("Pondering")).not.toContain("[31m");
  await terminal.until("slow words");
  await command("/off");
  const off = await terminal.until("/100k");
  for (const text of ["The widget", "The header", "The footer"]) expect(off).not.toContain(text);
  expect((globalThis as unknown as { disposed: string }).disposed).toBe("The header");
  await command("/bad");
  await terminal.until("no foot");
  await terminal.until("/100k");
});

const marks = `
  if (globalThis.drawsMarks) bonsai.registerEntryRenderer("mark", ({ data }) => ({ render: () => ["Mark " + data] }));
  bonsai.registerCommand("mark", { handler: (text) => void bonsai.appendEntry("mark", text) });`;
const drawMarks = (isDrawn: boolean) => Object.assign(globalThis, { drawsMarks: isDrawn });

test("what a key would do that is pressed again is said over a footer of an extension, too", async () => {
  const { terminal } = withExtension(`
    bonsai.on("session_start", (_event, ctx) => ctx.ui.setFooter(() => ({ render: () => ["first", "second"] })));`);
  await terminal.until("first");
  terminal.press("ctrl+c");
  const screen = await terminal.until("Ctrl-C again ends bonsai");
  expect(screen).not.toContain("first");
  expect(screen).toContain("second");
  await terminal.until("first");
});

test("a component that comes by itself waits until its user rests from typing", async () => {
  const { terminal, command } = withExtension(`
    bonsai.registerCommand("later", { handler(_args, ctx) {
      globalThis.openNow = () => void ctx.ui.custom((tui, theme, keys, done) => ({
        typed: "",
        render() { return ["Question " + this.typed]; },
        handleInput(data) { this.typed += data; },
      }));
    } });`);
  await terminal.until("say what to do");
  await command("/later");
  await terminal.until((screen) => !screen.includes("/later"));
  terminal.type("half");
  (globalThis as unknown as { openNow: () => void }).openNow();
  await new Promise((resolve) => setImmediate(resolve));
  terminal.type(" a thought");
  await terminal.until("half a thought");
  await terminal.until(/^Question/m);
  terminal.type("yes");
  await terminal.until("Question yes");
  terminal.press("ctrl+c");
  await terminal.until("half a thought");
});

test("an extension unfolds what is folded, and hears of the user's key", async () => {
  const { terminal, command } = withExtension(`
    bonsai.registerCommand("fold", { handler(args, ctx) {
      if (args !== "") ctx.ui.setToolsExpanded(args === "open");
      ctx.ui.notify("Open: " + ctx.ui.getToolsExpanded());
    } });
    bonsai.registerEntryRenderer("mark", (_entry, { expanded }) => ({ render: () => [expanded ? "unfolded" : "folded"] }));
    bonsai.registerCommand("mark", { handler: () => bonsai.appendEntry("mark") });`);
  await terminal.until("say what to do");
  await command("/mark");
  await terminal.until(/^folded/m);
  await command("/fold open");
  await terminal.until("Open: true");
  await terminal.until(/^unfolded/m);
  terminal.press("ctrl+o");
  await terminal.until(/^folded/m);
  await command("/fold");
  await terminal.until("Open: false");
});

test("entries are drawn as soon as a renderer is loaded, and when the session is opened again", async () => {
  drawMarks(false);
  const { terminal, command, end, project } = withExtension(marks);
  await terminal.until("say what to do");
  await command("hello");
  await terminal.until("Good.");
  await command("/mark one");
  drawMarks(true);
  await command("/reload");
  await terminal.until("Mark one");
  drawMarks(false);
  await command("/reload");
  await terminal.until((screen) => !screen.includes("Mark one"));
  await end();
  drawMarks(true);
  const again = openInteractive({ project, argv: ["-c", "-e", "./drawn.mjs"] });
  await again.terminal.until("Mark one");
});

test("what a component lays over the screen itself cannot break it, and Ctrl-C takes it away", async () => {
  const { terminal, command } = withExtension(`
    const over = (tui, text, render) => tui.showOverlay({ render, invalidate() {} }, { width: 20, anchor: "center" });
    bonsai.registerCommand("over", { async handler(_args, ctx) {
      await ctx.ui.custom((tui, theme, keys, done) => {
        over(tui, "bad", () => { throw new Error("no overlay"); });
        over(tui, "good", () => ["[ good ]"]);
        return { render: () => [] };
      });
      ctx.ui.notify("Done with it");
    } });`);
  await terminal.until("say what to do");
  await command("/over");
  await terminal.until("[ good ]");
  await terminal.until("no overlay");
  terminal.press("ctrl+c");
  await terminal.until((screen) => !screen.includes("[ good ]"));
});

test("what a component lays over the screen itself goes with the component, and the editor has the keys", async () => {
  const { terminal, command } = withExtension(`
    const over = (tui, text) => tui.showOverlay({ render: () => [text], invalidate() {} }, { width: 20, nonCapturing: text === "[ two ]" });
    bonsai.registerCommand("over", { async handler(_args, ctx) {
      await ctx.ui.custom((tui, theme, keys, done) => ({
        render: () => ["Press"],
        handleInput() {
          over(tui, "[ one ]");
          setTimeout(done, 50);
        },
      }));
    } });
    bonsai.registerCommand("widget", { handler(_args, ctx) {
      ctx.ui.setWidget("w", (tui) => (over(tui, "[ two ]"), { render: () => ["Widget"] }));
    } });`);
  await terminal.until("say what to do");
  await command("/over");
  await terminal.until(/^Press/m);
  terminal.type("x");
  await terminal.until("[ one ]");
  await terminal.until((screen) => !screen.includes("[ one ]"));
  await command("/widget");
  await terminal.until("[ two ]");
  await command("/reload");
  await terminal.until("1 extension loaded");
  expect(terminal.screen()).not.toContain("[ two ]");
});

test("an extension of pi draws with pi's components, theme and options", async () => {
  const files = {
    "pi.ts": `
      import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
      import { Box, SelectList, Text } from "@earendil-works/pi-tui";
      import { getSelectListTheme } from "@earendil-works/pi-coding-agent";
      export default function (pi: ExtensionAPI) {
        pi.registerMessageRenderer("card", (message, { outputPad }, theme) => {
          const box = new Box(outputPad, 0, (text) => theme.bg("customMessageBg", text));
          box.addChild(new Text(theme.fg("accent", theme.bold("Card ")) + message.content + theme.getFgAnsi("dim"), 0, 0));
          return box;
        });
        pi.registerCommand("card", { handler: async (_args, ctx) => {
          const items = ["one", "two"].map((value) => ({ value, label: value }));
          const chosen = await ctx.ui.custom<string>((tui, _theme, _keys, done) => {
            const list = new SelectList(items, 5, getSelectListTheme());
            list.onSelect = ({ value }) => done(value);
            return list;
          });
          pi.sendMessage({ customType: "card", content: chosen, display: true });
        } });
      }`,
  };
  const { terminal } = openInteractive({ columns: 80, rows: 24, files, argv: ["-e", "./pi.ts"] });
  await terminal.until("say what to do");
  terminal.type("/card");
  terminal.press("enter");
  await terminal.until(/→ one/);
  terminal.press("down");
  terminal.press("enter");
  await terminal.until(/^ Card two/m);
});
