import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { moveSession, moveToTrash } from "../../src/call/session-file.ts";

test("a session goes to the trash and back with the sessions of its sub-agents", () => {
  const home = mkdtempSync(join(tmpdir(), "trash-"));
  const folder = join(home, "sessions", "project");
  const file = join(folder, "one.jsonl");
  const write = () => {
    mkdirSync(join(folder, "one.tasks"), { recursive: true });
    writeFileSync(file, "{}\n");
  };
  write();
  moveToTrash(file, home);
  expect(readdirSync(folder)).toEqual([]);
  write();
  const inTrash = moveToTrash(file, home);
  expect(readdirSync(join(home, "trash", "project")).sort()).toEqual([
    ...["one-1.jsonl", "one-1.tasks", "one.jsonl", "one.tasks"],
  ]);
  moveSession(inTrash, file);
  expect(readdirSync(folder).sort()).toEqual(["one.jsonl", "one.tasks"]);
});
