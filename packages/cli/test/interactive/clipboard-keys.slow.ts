import { chmodSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test, vi } from "vitest";
import { MAX_COPIED_BYTES, textForTerminal } from "../../src/interactive/slash/copy.ts";
import { says } from "../call/agent-project.ts";
import { type OpenInteractiveOptions, openInteractive } from "./harness.ts";

/** A picture of one point. */
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const mark = /\[image-1x1-[0-9a-f]{8}\]/;

/** A desktop whose clipboard programs are these scripts of the shell; `$DATA` is a file with what they give. */
function desk(scripts: Record<string, string>, data: string | Buffer = ""): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-desk-"));
  install(folder, scripts, data);
  return { PATH: folder, WAYLAND_DISPLAY: "wayland-0" };
}

function install(folder: string, scripts: Record<string, string>, data: string | Buffer): void {
  const file = join(folder, "data");
  writeFileSync(file, data);
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\nPATH=/usr/bin:/bin\nDATA=${file}\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
}

const holds = { "wl-paste": 'cat "$DATA"' };

async function opened(env: Record<string, string>, options: OpenInteractiveOptions = {}) {
  const interactive = openInteractive({ scenario: says("Seen."), rows: 40, ...options, env });
  await interactive.terminal.until("/100k");
  return interactive;
}

function sentImages(home: string): unknown[] {
  const folder = join(home, "sessions");
  const [project = ""] = readdirSync(folder);
  const [file = ""] = readdirSync(join(folder, project));
  const lines = readFileSync(join(folder, project, file), "utf8")
    .trim()
    .split("\n");
  return lines
    .map((line) => JSON.parse(line).message)
    .filter((message) => message?.role === "user" && Array.isArray(message.content))
    .flatMap((message) => message.content.filter((block: { type: string }) => block.type === "image"));
}

test("an image from the clipboard is a mark in the editor, and goes with the message", async () => {
  const { terminal, project } = await opened(desk(holds, png));
  terminal.type("what is");
  terminal.press("ctrl+v");
  await terminal.until(/what is \[image-1x1-[0-9a-f]{8}\]/);
  terminal.type("?\n");
  await terminal.until("Seen.");
  expect(sentImages(project.home)).toEqual([
    { type: "image", data: png.toString("base64"), mimeType: "image/png" },
  ]);
});

test("one key deletes the mark together with the image", async () => {
  const { terminal, project } = await opened(desk(holds, png));
  terminal.type("what");
  terminal.press("ctrl+v");
  await terminal.until(mark);
  terminal.press("backspace", "backspace");
  await terminal.until(/─\nwhat\s*\n─/);
  terminal.type(" now\n");
  await terminal.until("Seen.");
  expect(sentImages(project.home)).toEqual([]);
});

test("the image comes back with its message, and is sent again", async () => {
  const { terminal, project } = await opened(desk(holds, png));
  terminal.press("ctrl+v");
  await terminal.until(mark);
  terminal.press("enter");
  await terminal.until("Seen.");
  terminal.type("/fork\n");
  await terminal.until("which message");
  terminal.press("enter");
  await terminal.until(/new session[\s\S]*─\n\[image-1x1-[0-9a-f]{8}\]\s*\n─/);
  terminal.press("enter");
  await terminal.until("Seen.");
  expect(sentImages(project.home)).toHaveLength(1);
});

test("an unknown mark is sent as text", async () => {
  const { terminal } = await opened(desk({}));
  terminal.type("what is [image-1x1-0123abcd]?\n");
  const screen = await terminal.until("is gone.");
  expect(screen).toMatch(/─\nwhat is \[image-1x1-0123abcd\]\?\s*\n─/);
});

test("text on the clipboard is pasted as text, and cannot steer the terminal", async () => {
  const env = desk(holds, "one\x1b[201~\x1b[31m\x07two\nthree");
  const { terminal } = await opened(env);
  terminal.press("ctrl+v");
  await terminal.until(/─\nonetwo\s*\nthree\s*\n─/);
});

test("a failed paste gives its reason and keeps the typed text", async () => {
  const env = desk({});
  const { terminal } = await opened(env);
  terminal.type("typed");
  await everyRow([
    ["nothing is installed", {}, "", /wl-paste\s+is\s+not\s+installed/],
    [
      "it is empty",
      { "wl-paste": "echo 'Nothing is copied' >&2; exit 1" },
      "",
      /has nothing to paste[\s\S]*Nothing is\s+copied/,
    ],
    ["another format", holds, Buffer.from("BM\0"), /neither text nor/],
    ["an image that is cut off", holds, png.subarray(0, 50), /clipboard:\s+the\s+file\s+is\s+incomplete/],
    [
      "an image that is too large",
      holds,
      Buffer.concat([png, Buffer.alloc(6_000_000)]),
      /too large \(6(\.\d)? MB, limit 5/,
    ],
  ] as const)(async ([, scripts, data, told]) => {
    install(env.PATH!, scripts, data as string);
    terminal.press("ctrl+v");
    const screen = await terminal.until(told);
    expect(screen).toMatch(/─\ntyped\s*\n─/);
  });
});

test("Esc ends a program that hangs, and says nothing", async () => {
  const { terminal } = await opened(desk({ "wl-paste": 'echo > "$DATA.begun"; sleep 1000' }));
  terminal.press("ctrl+v", "esc");
  terminal.type("go on\n");
  const screen = await terminal.until("Seen.");
  expect(screen).not.toContain("wl-paste");
});

const withCode: Scenario = says(
  "First:\n\n```ts\nconst a = 1;\n```\n\n- then\n\n  ~~~\n  echo two\n  ~~~\n\nDone.",
);
const takes = { "wl-copy": 'cat > "$DATA"' };

async function answered(env: Record<string, string>, scenario: Scenario = says("It is **so**.")) {
  const { terminal } = await opened(env, { scenario });
  terminal.type("say\n");
  await terminal.until(/Done\.|so\.|long/);
  return terminal;
}

const copied = ({ PATH }: Record<string, string>) => readFileSync(join(PATH!, "data"), "utf8");

test("the key copies the last answer as it was written, and needs one", async () => {
  const env = desk(takes);
  const { terminal } = await opened(env, { scenario: says("It is **so**.") });
  terminal.type("/copy\n");
  await terminal.until("no answer to copy");
  terminal.press("ctrl+u");
  terminal.type("say\n");
  await terminal.until("so.");
  terminal.press("ctrl+x");
  await terminal.until("Copied the last answer (13 bytes)");
  expect(copied(env)).toBe("It is **so**.");
});

test("copying an answer with code asks which part; a number names a block", async () => {
  const env = desk(takes);
  const terminal = await answered(env, withCode);
  terminal.press("ctrl+x");
  await terminal.until(/code block 1, ts[\s\S]*code block 2/);
  terminal.press("down", "enter");
  await terminal.until("Copied code block 1");
  expect(copied(env)).toBe("const a = 1;");
  terminal.type("/copy 2\n");
  await terminal.until("Copied code block 2");
  expect(copied(env)).toBe("echo two");
  terminal.type("/copy all\n");
  await terminal.until("Copied the last answer");
  expect(copied(env)).toMatch(/^First:[\s\S]*Done\.$/);
  terminal.type("/copy 3\n");
  await terminal.until("the last answer has 2 code blocks");
});

test("the terminal copies without a program, and over SSH", async () => {
  const terminal = await answered({ ...desk(takes), SSH_TTY: "/dev/pts/9" });
  terminal.type("/copy\n");
  await terminal.until("OSC 52");
  const sequence = `\x1b]52;c;${Buffer.from("It is **so**.").toString("base64")}\x07`;
  await vi.waitFor(() => expect(terminal.written.join("")).toContain(sequence));
});

test("a text that the terminal would cut is not copied", async () => {
  const long = "long ".repeat(20_000);
  const terminal = await answered(desk({}), says(long));
  terminal.type("/copy\n");
  await terminal.until("terminals accept at most");
  expect(textForTerminal("x".repeat(MAX_COPIED_BYTES), {})).toHaveLength(100_000);
  expect(textForTerminal("x".repeat(MAX_COPIED_BYTES + 1), {})).toBeUndefined();
});

test("tmux and screen pass the copied text on", () => {
  const plain = textForTerminal("text", {})!;
  expect(textForTerminal("text", { TMUX: "1" })).toBe(`${plain}\x1bPtmux;\x1b\x1b]52;c;dGV4dA==\x07\x1b\\`);
  const pieces = textForTerminal("x".repeat(1_000), { STY: "1" })!;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
  expect(pieces.replaceAll(/\x1bP|\x1b\\/g, "")).toBe(textForTerminal("x".repeat(1_000), {}));
});
