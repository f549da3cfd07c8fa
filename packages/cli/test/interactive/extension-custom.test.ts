import { everyRow } from "@bonsai-agent/testkit";
import { expect, test, vi } from "vitest";
import { shown, withExtension } from "./extension-setup.ts";

test("a component replaces the editor, gets the keys, and returns a value", async () => {
  const { terminal, command } = await withExtension(
    shown(`{
      typed: "",
      render(width) { return ["Typed: " + theme.fg("accent", this.typed), "x".repeat(width + 20), "a\\nb"]; },
      handleInput(data) { if (keys.matches(data, "tui.select.confirm")) done(this.typed); else this.typed += data; },
    }`),
  );
  command("/show");
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

test("a component that fails is named in a notice, and the editor is back", () =>
  everyRow([
    ["render throws", `{ render() { throw new Error("no paint"); } }`, "no paint"],
    ["render gives no lines", `{ render: () => 7 }`, "render returned number"],
    ["render gives lines that are none", `{ render: () => [{}] }`, "render returned a"],
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
  ])(async ([_name, component, reason]) => {
    const { terminal, command } = await withExtension(shown(component));
    command("/show");
    if (component.includes("Press")) {
      await terminal.until(/^Press/m);
      terminal.type("x");
    }
    await terminal.until("It gave undefined");
    const screen = await terminal.until(reason);
    expect(screen.replaceAll(/\s+/g, " ")).toContain("ctx.ui.custom component of drawn.mjs failed");
    terminal.type("still here");
    await terminal.until("still here");
  }));

test("an invalid component is an error of the command", () =>
  everyRow([
    ["no component", "42", "ctx.ui.custom with 42"],
    ["a factory that throws", `(() => { throw new Error("no factory"); })()`, "no factory"],
  ])(async ([_name, component, reason]) => {
    const { terminal, command } = await withExtension(shown(component));
    command("/show");
    await terminal.until((screen) => screen.replaceAll(/\s+/g, " ").includes(reason));
  }));

test("control characters are harmless, and only the last of ten thousand lines are shown", async () => {
  const { terminal, command } = await withExtension(
    shown(
      `{ render: () => [...Array(10_000).keys()].map((at) => "line " + at).concat("\\u001b[2Jwiped?\\u001b]0;t\\u0007") }`,
    ),
  );
  command("/show");
  const screen = await terminal.until("wiped?");
  expect(screen).toContain("line 9999");
  expect(screen).toContain("␛[2Jwiped?");
  expect(terminal.scrollback().split("\n").length).toBeLessThan(60);
});

test("Ctrl-C leaves a component that never ends; done counts once", async () => {
  const { terminal, command } = await withExtension(
    shown(`(globalThis.endTwice = () => { done("one"); done("two"); }, { render: () => ["For ever"] })`),
  );
  command("/show");
  await terminal.until("For ever");
  terminal.press("ctrl+c");
  await terminal.until("It gave undefined");
  command("/show");
  await terminal.until("For ever");
  (globalThis as unknown as { endTwice: () => void }).endTwice();
  await terminal.until("It gave one");
});

test("two components are stacked, and each returns its own value", async () => {
  const { terminal, command } = await withExtension(`
    const ask = (ctx, name) => ctx.ui.custom((tui, theme, keys, done) => ({
      render: () => ["Question " + name],
      handleInput: (data) => done(name + data),
    }));
    bonsai.registerCommand("both", { async handler(_args, ctx) {
      ctx.ui.notify((await Promise.all([ask(ctx, "first"), ask(ctx, "second")])).join(" and "));
    } });`);
  command("/both");
  expect(await terminal.until("Question second")).not.toContain("Question first");
  terminal.type("2");
  await terminal.until("Question first");
  terminal.type("1");
  await terminal.until("first1 and second2");
});

test("a component that is open while extensions are loaded anew is gone", async () => {
  const { terminal, command } = await withExtension(`
    bonsai.registerCommand("show", { async handler(_args, ctx) {
      globalThis.reloadNow = () => void ctx.reload();
      await ctx.ui.custom(() => ({ render: () => ["Open"] }));
    } });`);
  command("/show");
  await terminal.until("Open");
  (globalThis as unknown as { reloadNow(): void }).reloadNow();
  await terminal.until((screen) => !screen.includes("Open"));
  terminal.type("typed");
  await terminal.until("typed");
});

test("the program ends while a component is open, and while one is being made", async () => {
  const { terminal, command, end } = await withExtension(
    `${shown(`{ render: () => ["Open"] }`)}
    bonsai.registerCommand("never", { handler: (_args, ctx) => ctx.ui.custom(() => new Promise(() => {})) });`,
  );
  command("/never");
  command("/show");
  await terminal.until("Open");
  await end();
});

test("a component that comes by itself waits until its user rests from typing", async () => {
  const { terminal, command } = await withExtension(`
    bonsai.registerCommand("later", { handler(_args, ctx) {
      globalThis.openNow = () => void ctx.ui.custom((tui, theme, keys, done) => ({
        typed: "",
        render() { return ["Question " + this.typed]; },
        handleInput(data) { this.typed += data; },
      }));
    } });`);
  command("/later");
  await vi.waitFor(() => expect(globalThis).toHaveProperty("openNow"));
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
