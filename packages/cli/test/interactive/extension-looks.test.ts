import { expect, test } from "vitest";
import { withExtension } from "./extension-setup.ts";

const slow = { text: "slow words", delayMs: 40, chunkChars: 1 };

test("an extension replaces, hides and restores the spinner", async () => {
  const { terminal, command } = await withExtension(
    `bonsai.registerCommand("sign", { handler(args, { ui }) {
      ui.setWorkingIndicator(args === "" ? undefined : { frames: JSON.parse(args), intervalMs: 1 });
    } });`,
    { scenario: { contextWindow: 100_000, turn: [slow], atEnd: "repeat" } },
  );
  command(`/sign ["\\u001b[31m@\\u001b[0m", "x\\u001b[2J"]`);
  command("one");
  const screen = await terminal.until(/^ @ \w/m);
  expect(screen).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
  await terminal.until("slow words");
  command("/sign []");
  command("two");
  await terminal.until(/^ (Waiting|Answering)/m);
  await terminal.until(/slow words[\s\S]*slow words/);
  command("/sign");
  command("three");
  await terminal.until(/^ [⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] \w/m);
});

test("an extension can hide the activity, but not work that a key can cancel", async () => {
  const { terminal, command } = await withExtension(
    `bonsai.on("session_start", (_event, { ui }) => ui.setWorkingVisible(false));
     bonsai.on("turn_start", () => new Promise((resolve) => { globalThis.goOn = resolve; }));`,
    { scenario: { contextWindow: 100_000, turn: [slow] } },
  );
  command("one");
  await terminal.until(/Waiting for drawn\.mjs/);
  (globalThis as unknown as { goOn(): void }).goOn();
  await terminal.until("slow words");
  expect(terminal.screen()).not.toMatch(/Answering|Waiting/);
});

test("folded thinking is called as the extension says", async () => {
  const { terminal, command } = await withExtension(
    `bonsai.registerCommand("call", { handler(args, { ui }) { ui.setHiddenThinkingLabel(args || undefined); } });`,
    { scenario: { contextWindow: 100_000, turn: [{ thinking: "one\ntwo", text: "Thought." }] } },
  );
  command("think");
  await terminal.until("Thinking… 2 lines");
  command("/call Musing\u001b[31m");
  const screen = await terminal.until(/^ Musing/m);
  expect(screen).not.toContain("2 lines");
  terminal.press("ctrl+o");
  expect(await terminal.until(/^ {3}two/m)).toContain("Thinking… 2 lines");
  command("/call");
  terminal.press("ctrl+o");
  await terminal.until("Thinking… 2 lines");
});

test("a theme holds until its extension goes; an unknown one is refused", async () => {
  const { terminal, command } = await withExtension(
    `bonsai.registerCommand("wear", { handler(args, { ui }) { ui.notify(args + ": " + JSON.stringify(ui.setTheme(args))); } });`,
    { env: { NO_COLOR: "", COLORFGBG: "15;0" } },
  );
  const border = (color: number) => `\u001b[38;5;${color}m─`;
  const borderNow = () => {
    const all = terminal.written.join("");
    return all.lastIndexOf(border(248)) > all.lastIndexOf(border(240)) ? "light" : "dark";
  };
  command("/wear solarized");
  await terminal.until('solarized: {"success":false,"error":"solarized is not a theme');
  expect(borderNow()).toBe("dark");
  command("/wear light");
  await terminal.until('light: {"success":true}');
  await terminal.until(() => borderNow() === "light");
  command("/reload");
  await terminal.until(() => borderNow() === "dark");
});

test("a key listener gets keys after Bonsai and before the editor, until it is removed", async () => {
  const { terminal, command } = await withExtension(`
    const seen = [];
    bonsai.on("session_start", (_event, { ui }) => {
      const end = ui.onTerminalInput((data) => {
        seen.push(data);
        if (data === "q") return { consume: true };
        if (data === "u") return { data: "V" };
        if (data === "!") throw new Error("no ears");
      });
      bonsai.registerCommand("end", { handler() { end(); } });
      bonsai.registerCommand("seen", { handler() { ui.notify("seen " + JSON.stringify(seen)); } });
    });`);
  terminal.type("qua");
  await terminal.until(/^ ?Va$/m);
  terminal.press("ctrl+o");
  terminal.press("ctrl+c");
  command("/seen");
  expect(await terminal.until("seen [")).toContain('seen ["q","u","a","/"');
  terminal.type("!");
  await terminal.until((screen) =>
    screen
      .replaceAll(/\s+/g, " ")
      .includes("The ctx.ui.onTerminalInput handler of drawn.mjs failed: no ears"),
  );
  terminal.press("ctrl+c");
  terminal.type("qua");
  await terminal.until(/^ ?qua$/m);
});

test("a component gives its keys to another by setFocus, and takes them back", async () => {
  const { terminal, command } = await withExtension(`
    bonsai.registerCommand("show", { async handler(_args, ctx) {
      await ctx.ui.custom((tui, theme, keys, done) => {
        const inner = { text: "", focused: false, handleInput(data) { if (data === "\\t") tui.setFocus(null); else this.text += data; } };
        tui.setFocus(inner);
        let outer = "";
        return {
          render: () => ["inner: " + inner.text + (inner.focused ? "|" : ""), "outer: " + outer],
          handleInput(data) { outer += data; },
        };
      });
    } });`);
  command("/show");
  await terminal.until("inner: |");
  terminal.type("ab");
  terminal.press("tab");
  terminal.type("cd");
  const screen = await terminal.until("outer: cd");
  expect(screen).toMatch(/^inner: ab$/m);
});
