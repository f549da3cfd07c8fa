import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PromptHistory } from "../../src/interactive/prompt/prompt-history.ts";

test("prompts return in the next session with any content", () => {
  const { file, open } = place();
  const first = open();
  expect(first.read()).toEqual([]);
  for (const text of ["one", 'two\nlines "quoted"', "日本語 🌳"]) first.add(text);
  expect(open().read()).toEqual(["one", 'two\nlines "quoted"', "日本語 🌳"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a prompt twice in a row is one, also over sessions", () => {
  const { open } = place();
  const first = open();
  for (const text of ["a", "a", "b", "a"]) first.add(text);
  const second = open();
  second.read();
  second.add("a");
  expect(open().read()).toEqual(["a", "b", "a"]);
});

test("a thousand are kept, and a file that grew far over that is cut", () => {
  const { file, open } = place();
  const many = Array.from({ length: 1_600 }, (_, at) => JSON.stringify({ text: `prompt ${at}` }));
  writeFileSync(file, `${many.join("\n")}\n`);
  const read = open().read();
  expect(read).toHaveLength(1_000);
  expect(read.at(-1)).toBe("prompt 1599");
  expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(1_000);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("skips unreadable lines", () => {
  const { file, open } = place();
  open().add("whole");
  appendFileSync(file, '{"other":1}\n{"text":"cu\n');
  const next = open();
  next.read();
  next.add("after");
  expect(open().read()).toEqual(["whole", "after"]);
});

test("a file that cannot be written is notified once, and nothing fails", () => {
  const { file, faults, open } = place();
  mkdirSync(file);
  const history = open();
  expect(history.read()).toEqual([]);
  history.add("a");
  history.add("b");
  expect(faults).toEqual([expect.stringContaining("prompt history cannot be saved")]);
});

function place() {
  const home = mkdtempSync(join(tmpdir(), "bonsai-history-"));
  const faults: string[] = [];
  const open = () => new PromptHistory(home, (message) => faults.push(message));
  return { file: join(home, "history.jsonl"), faults, open };
}
