import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { describe, expect, test } from "vitest";
import {
  createSession,
  JsonlStore,
  MemoryStore,
  newSessionFile,
  openSession,
  type SessionStore,
} from "../src/index.ts";
import { sessionStoreCases } from "../src/store/store-conformance.ts";
import { childSession } from "./child-session.ts";
import { scratchFolder } from "./scratch-folder.ts";

const pathOf = scratchFolder();
const said = (content: string) =>
  ({ type: "message", message: { role: "user", content, timestamp: 0 } }) as const;

describe("conformance: jsonl", () => {
  let number = 0;
  const factory = {
    create: (content: string) => JsonlStore.create(pathOf(`${number++}.jsonl`), content),
    reopen: (store: SessionStore) => JsonlStore.open(store.file!),
  };
  for (const { name, run } of sessionStoreCases(factory)) test(name, run);
});

describe("conformance: memory", () => {
  const factory = {
    create: (content: string) => new MemoryStore(content),
    // Memory has no other process: what opens it again is itself.
    reopen: (store: SessionStore) => store,
  };
  for (const { name, run } of sessionStoreCases(factory)) test(name, run);
});

test("a store that breaks the contract fails its suite", () => {
  class Forgetful extends MemoryStore {
    override append(text: string): number {
      return text.length;
    }
  }
  const factory = {
    create: (content: string) => new Forgetful(content),
    reopen: (store: SessionStore) => store,
  };
  const failed = sessionStoreCases(factory).filter(({ run }) => {
    try {
      run();
      return false;
    } catch {
      return true;
    }
  });
  expect(failed.length).toBeGreaterThan(3);
});

describe("a session file", () => {
  test("is made for its owner alone, and never in the place of another", () => {
    const file = pathOf("new.jsonl");
    createSession({ cwd: "/", file }).close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const before = readFileSync(file);
    expect(() => createSession({ cwd: "/", file })).toThrow(
      expect.objectContaining({ code: "session_exists" }),
    );
    expect(readFileSync(file)).toEqual(before);
  });

  test("makes the folders above it, private to the user", () => {
    const file = pathOf("no/such/folder.jsonl");
    createSession({ cwd: "/", file }).close();
    expect(statSync(pathOf("no/such")).mode & 0o777).toBe(0o700);
    expect(readdirSync(pathOf("no/such"))).toEqual(["folder.jsonl"]);
  });

  test("a folder that nobody can make is refused at once", () => {
    const refused = expect.objectContaining({ code: "session_not_created" });
    expect(() => createSession({ cwd: "/", file: "/proc/no/such/day.jsonl" })).toThrow(refused);
    expect(() => newSessionFile({ id: "a", cwd: "/w", now: new Date(0), home: "/proc/no/such" })).toThrow(
      refused,
    );
  });

  test("a pipe is refused, and nobody waits for its writer", () => {
    const pipe = pathOf("pipe.jsonl");
    execFileSync("mkfifo", [pipe]);
    expect(() => openSession(pipe)).toThrow(expect.objectContaining({ code: "session_unreadable" }));
  });

  test("needs a folder where no file is in the way", () => {
    writeFileSync(pathOf("in-the-way"), "");
    const file = pathOf("in-the-way/day.jsonl");
    expect(() => createSession({ cwd: "/", file })).toThrow(
      expect.objectContaining({ code: "session_not_created" }),
    );
  });

  test("a session file that cannot hold its header is removed", async () => {
    const file = pathOf("full.jsonl");
    expect(await childSession(["create", file], { limitKib: 0 })).toEqual({ code: "session_not_created" });
    expect(existsSync(file)).toBe(false);
  });

  test("the error for a missing session file, or for a folder, names the path", () => {
    const missing = pathOf("missing.jsonl");
    expect(() => openSession(missing)).toThrow(expect.objectContaining({ code: "session_not_found" }));
    expect(existsSync(missing)).toBe(false);
    mkdirSync(pathOf("folder.jsonl"));
    expect(() => openSession(pathOf("folder.jsonl"))).toThrow(
      expect.objectContaining({ code: "session_unreadable" }),
    );
  });

  test("stays as it is, byte for byte, when it is opened and read", () => {
    const file = pathOf("opened.jsonl");
    createSession({ cwd: "/", file }).append([said("one"), said("two")]);
    const before = { bytes: readFileSync(file), modified: statSync(file).mtimeMs };
    const session = openSession(file);
    session.projection();
    session.problems();
    session.close();
    expect({ bytes: readFileSync(file), modified: statSync(file).mtimeMs }).toEqual(before);
  });

  test("a closed session file reports that it is closed", () => {
    const session = createSession({ cwd: "/", file: pathOf("closed.jsonl") });
    session.close();
    session.close();
    expect(() => session.append(said("late"))).toThrow(expect.objectContaining({ code: "session_closed" }));
  });

  test("keeps every append in one line that begins on its own", () => {
    const file = pathOf("lines.jsonl");
    const session = createSession({ cwd: "/", file });
    session.append(said("one"));
    session.append([said("two"), said("three")]);
    const text = readFileSync(file, "utf8");
    expect(text.split("\n").map((line) => line.slice(0, 16))).toEqual([
      '{"type":"session',
      '{"type":"message',
      '{"type":"message',
      '{"type":"message',
      "",
    ]);
  });
});

describe("a file that may not be written to", () => {
  test("is read; an append says why it fails, and changes nothing", async () => {
    const folder = pathOf("read-only");
    mkdirSync(folder);
    const file = `${folder}/sealed.jsonl`;
    const { id } = createSession({ cwd: "/", file });
    chmodSync(file, 0o444);
    chmodSync(folder, 0o555);
    chmodSync(pathOf("."), 0o755);
    const result = await childSession(["append", file]);
    chmodSync(folder, 0o755);
    expect(result).toMatchObject({
      id,
      readOnly: expect.stringContaining("EACCES"),
      code: "session_read_only",
    });
  });
});

describe("a disk that fails", () => {
  /** Stores only as much as there is room for. */
  class SmallDisk extends MemoryStore {
    room = Number.POSITIVE_INFINITY;

    override append(text: string): number {
      if (Buffer.byteLength(text) <= this.room) return super.append(text);
      super.append(text.slice(0, this.room));
      throw new Error("ENOSPC");
    }
  }

  test("a failed append leaves the session as before, and it goes on when there is room", () => {
    for (const room of [0, 1, 2, 40, 100]) {
      const store = new SmallDisk(readFileSync(headerFile()));
      const session = openSession({ store });
      session.append(said("one"));
      const before = { leafId: session.leafId, projection: session.projection(), path: session.path() };
      store.room = room;
      expect.soft(() => session.append(said("lost".repeat(50))), `${room}`).toThrow("ENOSPC");
      expect.soft(() => session.moveTo(null), `${room}`).toThrow("ENOSPC");
      expect
        .soft({ leafId: session.leafId, projection: session.projection(), path: session.path() }, `${room}`)
        .toEqual(before);
      store.room = Number.POSITIVE_INFINITY;
      session.append(said("two"));
      const texts = openSession({ store })
        .projection()
        .items.map(({ message }) => "content" in message && message.content);
      expect.soft(texts, `${room}`).toEqual(["one", "two"]);
      expect.soft(session.notices, `${room}`).toEqual([]);
      expect
        .soft(
          session.problems().every(({ kind }) => kind === "damaged_line"),
          `${room}`,
        )
        .toBe(true);
    }
  });

  function headerFile(): string {
    const file = pathOf("header.jsonl");
    if (!existsSync(file)) createSession({ cwd: "/", file }).close();
    return file;
  }

  test("really: a limit on the file's size in the middle of an append, and then room again", async () => {
    const file = pathOf("limited.jsonl");
    createSession({ cwd: "/", file }).close();
    // The limit is in blocks of 1 KiB; signals for exceeding it are ignored, as for a full disk.
    const result = await childSession(["fill", file], { limitKib: 8 });
    expect(result).toMatchObject({ code: "append_failed", leafUnchanged: true });
    expect(statSync(file).size).toBeLessThanOrEqual(8192);
    const session = openSession(file);
    expect(session.notices.map(({ code }) => code)).toEqual(["torn_line"]);
    expect(session.projection().items).toHaveLength(result.acknowledged as number);
    session.append(said("room again"));
    expect(openSession(file).projection().items).toHaveLength((result.acknowledged as number) + 1);
    expect(
      openSession(file)
        .problems()
        .map(({ kind }) => kind),
    ).toEqual(["damaged_line"]);
  });
});
