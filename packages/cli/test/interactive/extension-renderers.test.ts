import { expect, test } from "vitest";
import { withExtension } from "./extension-setup.ts";
import { openInteractive } from "./harness.ts";

test("messages and entries are drawn by their renderers, unfolded too; one that fails is notified once", async () => {
  const { terminal, command } = await withExtension(`
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
  command("/cards");
  const screen = await terminal.until("Mark 7");
  for (const text of ["Card: ace", "folded", "[broken]", "[nothing]", "plain"])
    expect(screen).toContain(text);
  expect(terminal.scrollback().match(/no card/g)).toHaveLength(1);
  terminal.press("ctrl+o");
  await terminal.until("all of it");
});

test("a renderer shows at most two thousand lines, each cut to the terminal", async () => {
  const { terminal, command } = await withExtension(`
    bonsai.registerMessageRenderer("long", () => ({
      render: (width) => [...Array(10_000).keys()].map((at) => at + " " + "w".repeat(width)),
    }));
    bonsai.registerCommand("long", { handler: () => bonsai.sendMessage({ customType: "long", content: "", display: true }) });`);
  command("/long");
  const screen = await terminal.until("… 8000 more lines");
  expect(screen).toMatch(/^1999 w+$/m);
  terminal.type("still quick");
  await terminal.until("still quick");
});

test("an extension unfolds what is folded, and gets the user's key", async () => {
  const { terminal, command } = await withExtension(`
    bonsai.registerCommand("fold", { handler(args, ctx) {
      if (args !== "") ctx.ui.setToolsExpanded(args === "open");
      ctx.ui.notify("Open: " + ctx.ui.getToolsExpanded());
    } });
    bonsai.registerEntryRenderer("mark", (_entry, { expanded }) => ({ render: () => [expanded ? "unfolded" : "folded"] }));
    bonsai.registerCommand("mark", { handler: () => bonsai.appendEntry("mark") });`);
  command("/mark");
  await terminal.until(/^folded/m);
  command("/fold open");
  await terminal.until("Open: true");
  await terminal.until(/^unfolded/m);
  terminal.press("ctrl+o");
  await terminal.until(/^folded/m);
  command("/fold");
  await terminal.until("Open: false");
});

const marks = `
  if (globalThis.drawsMarks) bonsai.registerEntryRenderer("mark", ({ data }) => ({ render: () => ["Mark " + data] }));
  bonsai.registerCommand("mark", { handler: (text) => void bonsai.appendEntry("mark", text) });`;
const drawMarks = (isDrawn: boolean) => Object.assign(globalThis, { drawsMarks: isDrawn });

test("entries are drawn as soon as a renderer is loaded, and when the session is opened again", async () => {
  drawMarks(false);
  const { terminal, command, end, project } = await withExtension(marks);
  command("hello");
  await terminal.until("Good.");
  command("/mark one");
  drawMarks(true);
  command("/reload");
  await terminal.until("Mark one");
  drawMarks(false);
  command("/reload");
  await terminal.until((screen) => !screen.includes("Mark one"));
  await end();
  drawMarks(true);
  const again = openInteractive({ project, argv: ["-c", "-e", "./drawn.mjs"] });
  await again.terminal.until("Mark one");
});

test("an extension of pi draws with pi's components, theme and options", async () => {
  const files = {
    "pi.ts": `
      import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
      import { Box, SelectList, Text } from "@earendil-works/pi-tui";
      const plain = (text: string) => text;
      export default function (pi: ExtensionAPI) {
        pi.registerMessageRenderer("card", (message, { outputPad }, theme) => {
          const box = new Box(outputPad, 0, (text) => theme.bg("customMessageBg", text));
          box.addChild(new Text(theme.fg("accent", theme.bold("Card ")) + message.content + theme.getFgAnsi("dim"), 0, 0));
          return box;
        });
        pi.registerCommand("card", { handler: async (_args, ctx) => {
          const items = ["one", "two"].map((value) => ({ value, label: value }));
          const chosen = await ctx.ui.custom<string>((tui, _theme, _keys, done) => {
            const list = new SelectList(items, 5, { selectedPrefix: plain, selectedText: plain, description: plain, scrollInfo: plain, noMatch: plain });
            list.onSelect = ({ value }) => done(value);
            return list;
          });
          pi.sendMessage({ customType: "card", content: chosen, display: true });
        } });
      }`,
  };
  const { terminal } = openInteractive({ columns: 80, rows: 24, files, argv: ["-e", "./pi.ts"] });
  await terminal.until("Type a task");
  terminal.type("/card");
  terminal.press("enter");
  await terminal.until(/→ one/);
  terminal.press("down");
  terminal.press("enter");
  await terminal.until(/^ Card two/m);
});
