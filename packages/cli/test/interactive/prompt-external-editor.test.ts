import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, onTestFinished, test, vi } from "vitest";
import { testFolder } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";

/** Opens the program with this as the user's own editor, and a text in the prompt. */
async function opened(VISUAL: string) {
  const { terminal } = openInteractive({ env: { VISUAL } });
  await terminal.until("/100k");
  terminal.paste("a text");
  return terminal;
}

test("takes the text that the editor wrote", () =>
  everyRow([
    ["a text and more", "printf ' and more' >>"],
    ["two\nlines", "printf 'two\\nlines\\n' >"],
  ] as const)(async ([written, editor]) => {
    const terminal = await opened(editor);
    terminal.press("ctrl+g");
    await terminal.until(`─\n${written}\n─`);
  }));

test("reports a failed editor and keeps the text", () =>
  everyRow(["false", "no-such-editor-of-bonsai", "kill -9 $$; :", "rm"])(async (editor) => {
    const terminal = await opened(editor);
    terminal.press("ctrl+g");
    const screen = await terminal.until("[editor_failed]");
    expect(screen.replaceAll(/\s+/g, " ")).toContain("Your text is unchanged.");
    expect(screen).toContain("─\na text\n─");
  }));

test("a Ctrl-C on the terminal ends the editor, not bonsai", async () => {
  const received: unknown[] = [];
  const receive = (name: unknown) => received.push(name);
  process.on("SIGINT", receive);
  onTestFinished(() => void process.removeListener("SIGINT", receive));
  const go = join(testFolder(), "go");
  const terminal = await opened(`until [ -f ${go} ]; do sleep 0.02; done; printf ' and more' >>`);
  terminal.press("ctrl+g");
  expect(terminal.isStarted).toBe(false);
  process.emit("SIGINT");
  expect(received).toEqual([]);
  writeFileSync(go, "");
  await terminal.until("a text and more");
  process.emit("SIGINT");
  expect(received).toHaveLength(1);
});

test("the editor ends with bonsai", async () => {
  const file = join(testFolder(), "pid");
  const { terminal, end } = openInteractive({ env: { VISUAL: `echo $$ > ${file}; exec sleep 1000; :` } });
  await terminal.until("/100k");
  terminal.press("ctrl+g");
  const pid = await vi.waitFor(() => Number(readFileSync(file, "utf8").match(/\d+\n/)![0]));
  await end();
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"));
});

test("without a named editor, nano opens", async () => {
  const PATH = testFolder();
  const script = '#!/bin/sh\nprintf " by nano" >> "$1"\n';
  writeFileSync(join(PATH, "nano"), script, { mode: 0o755 });
  const { terminal } = openInteractive({ env: { VISUAL: "", EDITOR: "", PATH } });
  await terminal.until("/100k");
  terminal.type("a text");
  terminal.press("ctrl+g");
  await terminal.until("a text by nano");
});
