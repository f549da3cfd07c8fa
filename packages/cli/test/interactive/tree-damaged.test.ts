import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openSession, type Session } from "@bonsai-agent/session";
import { type DamageName, damagedSessions, everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { visibleWidth } from "../../src/interactive/terminal/tui.ts";
import { TreeModel } from "../../src/interactive/tree/tree-model.ts";
import { treeRow } from "../../src/interactive/tree/tree-row.ts";
import { header, testFolder, writeLines } from "../call/sample-session.ts";

const theme = makeTheme("none");

function modelOf(session: Session): TreeModel {
  return new TreeModel({ tree: session.tree(), leafId: session.leafId });
}

/** Every row of the tree, as it is drawn. */
function rowsOf(model: TreeModel, width = 80): string[] {
  return model.rows.map((at) => treeRow(at, { model, theme, width, nowMs: 0 }));
}

function search(model: TreeModel, words: string): string[] {
  model.setSearch(words);
  while (model.searchProgress < 1) model.read(2);
  model.sift();
  return rowsOf(model);
}

const damaged = damagedSessions();
/** Those that do not open at all. */
const unopened: readonly DamageName[] = ["empty", "no session at all", "binary file"];

const names = (Object.keys(damaged) as DamageName[]).filter((name) => !unopened.includes(name));

test("the tree of every damaged file can be walked", () =>
  everyRow(names)((name) => {
    const file = join(testFolder(), `${name}.jsonl`);
    writeFileSync(file, damaged[name]);
    const session = openSession(file);
    const model = modelOf(session);
    do {
      model.nextFilter();
      for (const width of [20, 40, 80, 200])
        for (const row of rowsOf(model, width)) expect(visibleWidth(row)).toBeLessThanOrEqual(width);
    } while (model.filter !== "default");
    model.setFilter("all");
    for (const at of model.rows) {
      model.move(model.rows.indexOf(at) - model.selectedRow);
      expect([model.isHere(at), model.leavesWork(at)]).not.toEqual([true, true]);
      model.foldOrUp();
      model.unfoldOrDown();
    }
    search(model, "the");
    session.close();
  }));

test("unread entries of a shortened or closed file are damaged", () => {
  const file = writeLines(chain(20));
  const session = openSession(file);
  const model = modelOf(session);
  truncateSync(file, 1_000);
  expect(search(model, "damaged").length).toBeGreaterThan(10);
  session.close();
  model.setSearch("");
  expect(rowsOf(model)).toHaveLength(20);
  expect(search(model, "nowhere")).toEqual([]);
});

test("a deep chain and many siblings are gone about in without recursion", () => {
  const lines = chain(3_000);
  for (let id = 3_000; id < 4_000; id += 1) lines.push(message(id, 2_999));
  const session = openSession(writeLines(lines));
  const model = modelOf(session);
  expect(model.rows).toHaveLength(4_000);
  model.foldOrUp();
  model.move(Number.NEGATIVE_INFINITY);
  model.foldOrUp();
  expect(rowsOf(model)).toEqual([expect.stringContaining("+3,999")]);
  expect(search(model, "message 2999")).toHaveLength(1);
  session.close();
});

/** The lines of a session without branches. */
function chain(messages: number): object[] {
  return [header, ...Array.from({ length: messages }, (_, id) => message(id, id === 0 ? null : id - 1))];
}

function message(id: number, parent: number | null): object {
  return {
    ...{ type: "message", id: hex(id), parentId: parent === null ? null : hex(parent) },
    timestamp: "2026-01-05T09:00:00.000Z",
    message: { role: "user", content: `message ${id}`, timestamp: 0 },
  };
}

function hex(id: number): string {
  return id.toString(16).padStart(8, "0");
}
