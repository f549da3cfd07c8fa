import { expect, test } from "vitest";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { openInteractive } from "./harness.ts";

const border = (scheme: "dark" | "light") => makeTheme(scheme).style.border("x").split("x")[0]!;
const white = "\x1b]11;rgb:ffff/ffff/ffff\x07";

test("a late answer of the terminal changes the colours and does not reach the editor", async () => {
  const { terminal } = openInteractive({ env: { NO_COLOR: "" } });
  await terminal.until("100k");
  expect(terminal.written.join("")).toContain(border("dark"));
  expect(terminal.written.join("")).not.toContain(border("light"));
  terminal.type("typed");
  terminal.send(white);
  terminal.send(white);
  await terminal.until(() => terminal.written.join("").includes(border("light")));
  await terminal.until(/^ *typed *$/m);
  terminal.send("\x1b]11;no colour\x07");
  terminal.type(" on");
  await terminal.until(/^ *typed on *$/m);
});

test("a terminal that changes its colours is asked again", async () => {
  const { terminal } = openInteractive({ env: { NO_COLOR: "" }, background: "#ffffff" });
  await terminal.until("100k");
  const asked = () => terminal.written.filter((data) => data === "\x1b]11;?\x07").length;
  expect(asked()).toBe(1);
  terminal.send("\x1b[?997;2n");
  await terminal.settle();
  expect(asked()).toBe(2);
});

test("the terminal's background is not requested without colours", async () => {
  const { terminal } = openInteractive();
  await terminal.until("100k");
  expect(terminal.written.join("")).not.toMatch(/\]11;|\?2031/);
});
