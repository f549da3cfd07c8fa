import { expect, test } from "vitest";
import { shown, withExtension } from "./extension-setup.ts";

test("an overlay stands over the chat, and Esc is its own", async () => {
  const { terminal, command } = await withExtension(
    shown(
      `{ render: () => ["[ over ]"], handleInput: (data) => done(data === "\\u001b" ? "escaped" : data) }`,
      `{ overlay: true, overlayOptions: { width: 20, anchor: "top-right" } }`,
    ),
  );
  command("/show");
  await terminal.until("[ over ]");
  terminal.press("esc");
  await terminal.until("It gave escaped");
  expect(terminal.screen()).not.toContain("[ over ]");
});

test("an overlay without options is as wide as its component says", async () => {
  const { terminal, command } = await withExtension(
    shown(`{ width: 24, render: (width) => ["[ " + width + " columns ]"] }`, "{ overlay: true }"),
  );
  command("/show");
  await terminal.until("[ 24 columns ]");
});

test("a component's own overlay cannot break the screen, and Ctrl-C removes it", async () => {
  const { terminal, command } = await withExtension(`
    const over = (tui, text, render) => tui.showOverlay({ render, invalidate() {} }, { width: 20, anchor: "center" });
    bonsai.registerCommand("over", { async handler(_args, ctx) {
      await ctx.ui.custom((tui, theme, keys, done) => {
        over(tui, "bad", () => { throw new Error("no overlay"); });
        over(tui, "good", () => ["[ good ]"]);
        return { render: () => [] };
      });
      ctx.ui.notify("Done with it");
    } });`);
  command("/over");
  await terminal.until("[ good ]");
  await terminal.until("no overlay");
  terminal.press("ctrl+c");
  await terminal.until((screen) => !screen.includes("[ good ]"));
});

test("a component's own overlay closes with it, and the editor gets the keys", async () => {
  const { terminal, command } = await withExtension(`
    const over = (tui, text, handleInput) => tui.showOverlay(
      { render: () => [text], invalidate() {}, handleInput },
      { width: 20, nonCapturing: handleInput === undefined },
    );
    bonsai.registerCommand("over", { async handler(_args, ctx) {
      await ctx.ui.custom((tui, theme, keys, done) => ({
        render: () => ["Press"],
        handleInput: () => over(tui, "[ one ]", () => done()),
      }));
    } });
    bonsai.registerCommand("widget", { handler(_args, ctx) {
      ctx.ui.setWidget("w", (tui) => (over(tui, "[ two ]"), { render: () => ["Widget"] }));
    } });`);
  command("/over");
  await terminal.until(/^Press/m);
  terminal.type("x");
  await terminal.until("[ one ]");
  terminal.type("x");
  await terminal.until((screen) => !screen.includes("[ one ]"));
  command("/widget");
  await terminal.until("[ two ]");
  command("/reload");
  await terminal.until("Reloaded 1 extension");
  expect(terminal.screen()).not.toContain("[ two ]");
});
