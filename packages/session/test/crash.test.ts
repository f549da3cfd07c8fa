import { appendFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createSession, openSession } from "../src/index.ts";
import { appendingProcess } from "./child-session.ts";
import { scratchFolder } from "./scratch-folder.ts";

const pathOf = scratchFolder();

/** A new session file. */
function newFile(name: string): string {
  const file = pathOf(`${name}.jsonl`);
  createSession({ cwd: "/", file }).close();
  return file;
}

/** Every acknowledged entry is there, each append is whole, and the session goes on. */
function expectWhole(file: string, acknowledged: readonly string[]): void {
  const session = openSession(file);
  const lost = acknowledged.filter((id) => session.entry(id)?.type !== "message");
  expect(lost).toEqual([]);
  const next = session.append({ type: "message", message: { role: "user", content: "next", timestamp: 0 } });
  expect(openSession(file).entry(next.id)).toEqual(next);
  expect(openSession(file).leafId).toBe(next.id);
  const kinds = new Set(session.problems().map(({ kind }) => kind));
  kinds.delete("damaged_line");
  expect([...kinds]).toEqual([]);
}

describe("a process that is killed while it appends", () => {
  // `pnpm laws` kills the process at more points.
  test.each(process.env.LAW_RUNS ? [1, 17, 130, 400] : [130])(
    "after about %i appends loses nothing acknowledged",
    async (count) => {
      const file = newFile(`killed-${count}`);
      const writer = appendingProcess(["loop", file, "a"]);
      await writer.reached(count);
      await writer.kill();
      expect(writer.acknowledged.length).toBeGreaterThanOrEqual(count);
      expectWhole(file, writer.acknowledged);
      expect(openSession(file).projection().items.length).toBeGreaterThan(writer.acknowledged.length);
    },
  );
});

describe("two processes on one file", () => {
  test("each keeps a branch of its own, and nobody loses a line when one is killed", async () => {
    const file = newFile("two");
    const [staying, killed] = [
      appendingProcess(["count", file, "600"]),
      appendingProcess(["loop", file, "b"]),
    ];
    await Promise.all([staying.reached(50), killed.reached(50)]);
    await killed.kill();
    await staying.ended;
    expect(staying.acknowledged).toHaveLength(600);
    const session = openSession(file);
    for (const { acknowledged } of [staying, killed]) {
      // The second process may begin on the first one's branch, but continues alone.
      const path = session.path(acknowledged.at(-1)).map(({ id }) => id);
      expect(path.slice(-acknowledged.length)).toEqual(acknowledged);
    }
    expectWhole(file, [...staying.acknowledged, ...killed.acknowledged]);
  });

  test("one dies in the middle of a line while the other goes on: its next line stands alone", async () => {
    const file = newFile("half");
    const dying = () => appendingProcess(["half", file]);
    const staying = appendingProcess(["loop", file, "a"]);
    const dead = [dying(), dying()];
    await Promise.all(dead.map(({ ended }) => ended));
    await staying.reached(staying.acknowledged.length + 20);
    await staying.kill();
    expectWhole(file, [...staying.acknowledged, ...dead.flatMap(({ acknowledged }) => acknowledged)]);
  });

  test("a session that finds foreign entries reports them once and keeps its own branch", () => {
    const file = newFile("foreign");
    const said = (content: string) =>
      ({ type: "message", message: { role: "user", content, timestamp: 0 } }) as const;
    const codes: string[] = [];
    const first = openSession(file, { onNotice: ({ code }) => codes.push(code) });
    const root = first.append(said("root"));
    const second = openSession(file);
    const theirs = second.append(said("theirs"));
    const ours = [first.append(said("ours")), first.append(said("ours too"))];
    first.entries();
    expect(codes).toEqual(["foreign_entries"]);
    expect(first.notices).toHaveLength(1);
    expect(first.path().map(({ id }) => id)).toEqual([root.id, ...ours.map(({ id }) => id)]);
    expect(first.entry(theirs.id)).toEqual(theirs);
    expect(first.path(theirs.id).map(({ id }) => id)).toEqual([root.id, theirs.id]);
    second.append(said("theirs too"));
    second.close();
    expect(second.notices.map(({ code }) => code)).toEqual(["foreign_entries"]);
    expect(first.entries()).toHaveLength(5);
  });

  test("a fast writer notices foreign entries within 64 appends, or when the session is read or closed", () => {
    const said = (content: string) =>
      ({ type: "message", message: { role: "user", content, timestamp: 0 } }) as const;
    for (const end of ["appends", "index", "close"]) {
      const file = newFile(`foreign-${end}`);
      const session = openSession(file);
      session.append(said("first"));
      openSession(file).append(said("theirs"));
      if (end === "appends") for (let n = 0; n < 64; n += 1) session.append(said(`${n}`));
      if (end === "index") session.index();
      if (end === "close") session.close();
      expect(session.notices.map(({ code }) => code)).toEqual(["foreign_entries"]);
    }
  });

  test("half a line of a living writer, finished later by it, is read as it then is", () => {
    const file = newFile("slow-writer");
    const session = openSession(file);
    const line =
      '{"type":"label","id":"00000001","parentId":null,"timestamp":"2026-01-05T09:00:00.000Z","targetId":"x","label":"y"}\n';
    appendFileSync(file, line.slice(0, 80));
    expect(session.label("x")).toBeUndefined();
    appendFileSync(file, line.slice(80));
    expect(session.label("x")).toBe("y");
    expect(session.problems()).toEqual([]);
  });
});
