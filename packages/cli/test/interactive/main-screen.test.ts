import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { withoutPadding } from "../../src/interactive/terminal/fitted-lines.ts";
import { MainScreen } from "../../src/interactive/terminal/main-screen.ts";
import { Container } from "../../src/interactive/terminal/tui.ts";
import { HeadlessTerminal, type HeadlessTerminalOptions } from "./headless-terminal.ts";

/** A chat of texts that are wrapped, and an editor of four rows below it. */
class Words {
  texts: string[] = [];

  render(width: number): string[] {
    return this.texts.flatMap((text) => text.match(new RegExp(`.{1,${width}}`, "g")) ?? [""]);
  }

  invalidate(): void {}
}

interface Opened {
  terminal: HeadlessTerminal;
  chat: Words;
  /** Stands between chat and editor: not kept. */
  panel: Words;
  screen: MainScreen;
  draw(): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
}

/** Behind a hundred lines of the shell. */
async function open(options: HeadlessTerminalOptions = { columns: 20, rows: 10 }): Promise<Opened> {
  const terminal = new HeadlessTerminal(options);
  for (let at = 1; at <= 100; at += 1) terminal.write(`shell ${at}\r\n`);
  const [chat, panel] = [new Words(), new Words()];
  const kept = new Container();
  kept.addChild(chat);
  const screen = new MainScreen(terminal, { kept: [kept], rule: () => "-----" });
  for (const part of [kept, panel, editor]) screen.addChild(part);
  screen.start();
  const draw = async () => {
    screen.renderNow();
    await terminal.settle();
  };
  const resize = (columns: number, rows: number) => {
    terminal.resize(columns, rows);
    return draw();
  };
  await draw();
  return { terminal, chat, panel, screen, draw, resize };
}

/** A word, its cursor, a rule at each side, and a footer. */
const editor = {
  render: (width: number) => ["─".repeat(width), "> \u001b_pi:c\u0007", "─".repeat(width), "footer"],
  invalidate: () => {},
};
const shell = Array.from({ length: 100 }, (_, at) => `shell ${at + 1}`);
const numbered = (count: number, word = "line") => Array.from({ length: count }, (_, at) => `${word} ${at}`);

function lines(text: string): string[] {
  return text.split("\n");
}

/** What stands above the editor. */
function scrolledAndShown({ terminal }: Opened): string[] {
  const all = lines(terminal.scrollback());
  return all.slice(0, all.lastIndexOf("footer") - 3);
}

test("lines that come scroll what is above, and each is there once", async () => {
  const opened = await open();
  for (let at = 0; at < 40; at += 1) {
    opened.chat.texts.push(`line ${at}`);
    await opened.draw();
  }
  expect(scrolledAndShown(opened)).toEqual([...shell, ...numbered(40)]);
});

test("many lines that come at once scroll too", async () => {
  const opened = await open();
  opened.chat.texts = numbered(40);
  await opened.draw();
  expect(scrolledAndShown(opened)).toEqual([...shell, ...numbered(40)]);
});

test("a smaller screen is complete, and the terminal keeps the lines above it", () =>
  everyRow([
    [20, 6],
    [20, 14],
    [20, 30],
    [30, 10],
    [25, 7],
  ])(async ([columns, rows]) => {
    const opened = await open();
    opened.chat.texts = numbered(40);
    await opened.draw();
    await opened.resize(columns, rows);
    const screen = lines(opened.terminal.screen());
    expect(screen.slice(0, -4)).toEqual(numbered(40).slice(-(rows - 4)));
    expect(screen.at(-1)).toBe("footer");
    const all = scrolledAndShown(opened);
    for (const line of [...shell, ...numbered(40)]) expect(all).toContain(line);
  }));

test("fewer rows and as many again, over and over: no line is lost, and hardly one is there twice", async () => {
  const opened = await open();
  opened.chat.texts = numbered(40);
  await opened.draw();
  for (let round = 0; round < 10; round += 1) {
    await opened.resize(20, 7);
    await opened.resize(20, 10);
  }
  opened.chat.texts = numbered(80);
  await opened.draw();
  const all = scrolledAndShown(opened);
  for (const line of [...shell, ...numbered(80)]) expect(all).toContain(line);
  expect(all.slice(-40)).toEqual(numbered(80).slice(-40));
  expect(all.length).toBeLessThan(shell.length + 80 + 10);
});

test("narrower, column by column, while lines come, and wide again", async () => {
  const opened = await open({ columns: 40, rows: 12 });
  const text = (at: number) => `word ${at} and some more words of a line`;
  for (let at = 0; at < 40; at += 1) opened.chat.texts.push(text(at));
  await opened.draw();
  for (let columns = 39; columns >= 12; columns -= 1) {
    opened.chat.texts.push(text(opened.chat.texts.length));
    await opened.resize(columns, 12);
    const seen = lines(opened.terminal.screen());
    expect(seen.at(-1)).toBe("footer");
    expect(seen).toHaveLength(12);
    expect(seen.slice(0, -4)).toEqual(
      opened.chat
        .render(columns)
        .slice(-8)
        .map((line) => line.trimEnd()),
    );
  }
  for (let columns = 13; columns <= 40; columns += 1) await opened.resize(columns, 12);
  const all = opened.terminal.scrollback().replaceAll("\n", "").replaceAll(" ", "");
  for (const each of [...shell, ...opened.chat.texts]) expect(all).toContain(each.replaceAll(" ", ""));
  expect(lines(opened.terminal.scrollback()).length).toBeLessThan(300);
});

test("a change above the screen leaves the scrollback alone, and later lines appear once", async () => {
  const opened = await open();
  opened.chat.texts = numbered(40);
  await opened.draw();
  opened.chat.texts[3] = "changed";
  opened.chat.texts.splice(10, 0, "one more", "and another");
  await opened.draw();
  opened.chat.texts.push(...numbered(20, "later"));
  await opened.draw();
  expect(scrolledAndShown(opened)).toEqual([...shell, ...numbered(40), ...numbered(20, "later")]);
});

test("a table whose columns grow while it comes: the screen is true, and each line is there", async () => {
  const opened = await open();
  for (let row = 0; row < 40; row += 1) {
    opened.chat.texts = numbered(row + 1, " ".repeat(row >> 3));
    await opened.draw();
    expect(opened.terminal.screen()).toContain(`${" ".repeat(row >> 3)} ${row}`);
  }
  expect(scrolledAndShown(opened).map((line) => line.trim())).toEqual([
    ...shell,
    ...numbered(40, "").map((line) => line.trim()),
  ]);
});

test("a panel that opens and closes leaves no lines", () =>
  everyRow([3, 9, 30])(async (height) => {
    const opened = await open();
    opened.chat.texts = numbered(40);
    await opened.draw();
    const before = opened.terminal.screen();
    for (let round = 0; round < 5; round += 1) {
      opened.panel.texts = numbered(height, "panel");
      await opened.draw();
      opened.panel.texts.push("more of it");
      await opened.draw();
      expect(opened.terminal.screen()).toContain("more of it");
      opened.panel.texts = [];
      await opened.draw();
      expect(opened.terminal.screen()).toBe(before);
    }
    opened.chat.texts.push(...numbered(40, "later"));
    await opened.draw();
    expect(scrolledAndShown(opened)).toEqual([...shell, ...numbered(40), ...numbered(40, "later")]);
  }));

test("a block unfolded above the screen is printed below a rule; folding changes only the screen", async () => {
  const opened = await open();
  opened.chat.texts = numbered(40);
  await opened.draw();
  const unfolded = numbered(40).flatMap((line) => (/[05]$/.test(line) ? [line, `${line} in full`] : [line]));
  opened.chat.texts = unfolded.slice();
  opened.screen.showOther();
  await opened.draw();
  const printed = [...shell, ...numbered(34), "-----", ...unfolded];
  expect(scrolledAndShown(opened)).toEqual(printed);
  opened.chat.texts = numbered(40);
  opened.screen.showOther();
  await opened.draw();
  expect(lines(opened.terminal.screen()).slice(0, 6)).toEqual(numbered(40).slice(-6));
  opened.chat.texts.push(...numbered(20, "later"));
  await opened.draw();
  expect(scrolledAndShown(opened).slice(-20)).toEqual(numbered(20, "later"));
  for (const line of printed.slice(0, -6)) expect(scrolledAndShown(opened)).toContain(line);
});

test("unfolding prints at most the last thousand lines", async () => {
  const opened = await open();
  opened.chat.texts = numbered(40);
  await opened.draw();
  opened.chat.texts = numbered(5_000, "unfolded");
  opened.screen.showOther();
  await opened.draw();
  const all = scrolledAndShown(opened);
  expect(all.slice(0, shell.length)).toEqual(shell);
  expect(all.slice(-1_006)).toEqual(numbered(5_000, "unfolded").slice(-1_006));
  expect(all.length).toBeLessThan(1_200);
});

test("another chat of any length keeps the earlier lines readable", () =>
  everyRow([
    [0, 0],
    [3, 0],
    [40, 0],
    [40, 5],
    [40, 60],
  ])(async ([before, after]) => {
    const opened = await open();
    opened.chat.texts = numbered(before);
    await opened.draw();
    opened.chat.texts = numbered(after, "other");
    opened.screen.showOther();
    await opened.draw();
    expect(opened.terminal.screen()).not.toContain("line");
    const rule = before > 0 ? ["-----"] : [];
    expect(scrolledAndShown(opened)).toEqual([
      ...shell,
      ...numbered(before),
      ...rule,
      ...numbered(after, "other"),
    ]);
  }));

test("another branch is printed from where it parts", async () => {
  const opened = await open();
  opened.chat.texts = numbered(40);
  await opened.draw();
  opened.chat.texts = [...numbered(20), "", ...numbered(30, "other")];
  opened.screen.showOther();
  await opened.draw();
  expect(scrolledAndShown(opened)).toEqual([
    ...shell,
    ...numbered(40),
    "-----",
    "",
    ...numbered(30, "other"),
  ]);
});

test("a compaction below what is kept prints nothing twice", async () => {
  const opened = await open();
  opened.chat.texts = numbered(40);
  await opened.draw();
  opened.chat.texts = [...numbered(40).slice(25), "compacted", "to less"];
  opened.screen.showOther();
  await opened.draw();
  expect(scrolledAndShown(opened)).toEqual([...shell, ...numbered(40), "compacted", "to less"]);
});

test("output of another program in between is kept", async () => {
  const opened = await open();
  opened.chat.texts = numbered(40);
  await opened.draw();
  opened.screen.stop();
  for (const line of ["$ date", "today", "$ fg"]) opened.terminal.write(`${line}\r\n`);
  opened.screen.start();
  opened.screen.requestRender(true);
  await opened.draw();
  const all = scrolledAndShown(opened);
  for (const line of [...shell, ...numbered(40), "$ date", "today", "$ fg"]) expect(all).toContain(line);
  expect(lines(opened.terminal.screen()).slice(0, 6)).toEqual(numbered(40).slice(-6));
});

test("writes blanks at the end of a line only if they are visible", () =>
  everyRow([
    ["plain     ", "plain"],
    ["     ", ""],
    ["\u001b[38;5;110mblue\u001b[39m     ", "\u001b[38;5;110mblue\u001b[39m"],
    ["\u001b[48;5;7mblue\u001b[39m     ", undefined],
    ["\u001b[4munder     ", undefined],
    ["\u001b[44mblue     \u001b[49m", undefined],
  ])(([line, written = line]) => {
    expect(withoutPadding(line)).toBe(written);
  }));
