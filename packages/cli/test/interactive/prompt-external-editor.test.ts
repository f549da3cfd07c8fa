import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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

test.for([
  ["a text and more", "printf ' and more' >>"],
  ["two\nlines", "printf 'two\\nlines\\n' >"],
] as const)("another program gives back %j, made of the text before it", async ([written, editor]) => {
  const terminal = await opened(editor);
  terminal.press("ctrl+g");
  await terminal.until(`─\n${written}\n─`);
});

test.for(["false", "no-such-editor-of-bonsai", "kill -9 $$; :", "rm"])(
  "an editor that fails is notified, and the text stays: %s",
  async (editor) => {
    const terminal = await opened(editor);
    terminal.press("ctrl+g");
    const screen = await terminal.until("[editor_failed]");
    expect(screen.replaceAll(/\s+/g, " ")).toContain("Your text is unchanged.");
    expect(screen).toContain("─\na text\n─");
  },
);

test("a Ctrl-C on the terminal ends the program that has it, and not bonsai", async () => {
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

test("a program that writes is ended with bonsai", async () => {
  const file = join(testFolder(), "pid");
  const { terminal, end } = openInteractive({ env: { VISUAL: `echo $$ > ${file}; exec sleep 1000; :` } });
  await terminal.until("/100k");
  terminal.press("ctrl+g");
  const pid = await vi.waitFor(() => Number(readFileSync(file, "utf8").match(/\d+\n/)![0]));
  await end();
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"));
});

/** A machine where no editor is named and only these are there: each writes its name and how many arguments it got. */
function withEditors(...names: string[]) {
  const folder = testFolder();
  for (const name of names) {
    const script = `for file; do :; done; printf ' by ${name} %s' $# >> "$file"`;
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  return { VISUAL: "", EDITOR: "", PATH: folder };
}

test("without one, those that are there are offered, and the choice is remembered where the user says so", async () => {
  const env = withEditors("vi", "code");
  const { terminal, project } = openInteractive({ env });
  await terminal.until("/100k");
  terminal.type("a text");
  terminal.press("ctrl+g");
  const screen = await terminal.until("Which editor?");
  expect(screen).toMatch(/vi[\s\S]*code --wait/);
  expect(screen).not.toContain("nano");
  terminal.press("down", "enter");
  await terminal.until("Save this editor?");
  terminal.press("y", "enter");
  await terminal.until("a text by code 2");
  const settings = JSON.parse(readFileSync(join(project.home, "settings.json"), "utf8"));
  expect(settings).toMatchObject({ editor: "code --wait" });
});

test("a choice that is not remembered holds until the end", async () => {
  const { terminal, project } = openInteractive({ env: withEditors("vi") });
  await terminal.until("/100k");
  terminal.type("a text");
  terminal.press("ctrl+g");
  await terminal.until("Which editor?");
  terminal.press("enter");
  await terminal.until("Save this editor?");
  terminal.press("n");
  await terminal.until("a text by vi 1");
  terminal.press("ctrl+g");
  await terminal.until("a text by vi 1 by vi 1");
  expect(() => readFileSync(join(project.home, "settings.json"), "utf8")).toThrow("ENOENT");
});

test("where there is none at all, those that are looked for are named", async () => {
  const { terminal } = openInteractive({ env: withEditors() });
  await terminal.until("/100k");
  terminal.press("ctrl+g");
  await terminal.until(/Searched PATH for\s+nano/);
});
