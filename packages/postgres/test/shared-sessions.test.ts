import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSession, openSession } from "@bonsai-agent/session";
import { generateSession } from "@bonsai-agent/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { databaseStatus, initDatabase, sharedStoreOf } from "../src/index.ts";
import { storedParts } from "../src/segment.ts";
import { testDrafts } from "./draft-cases.ts";
import { type TestDatabase, testDatabase, userMessage } from "./test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.stop());

const texts = (session: { entries(): readonly unknown[] }) =>
  session.entries().flatMap((entry) => (entry as { message?: { content?: string } }).message?.content ?? []);

test("a second initialisation changes nothing", async () => {
  expect(await initDatabase(database.pool)).toEqual({ from: 2, to: 2 });
  expect(await databaseStatus(database.pool)).toMatchObject({ version: 2, wanted: 2 });
});

test("a session continues on another host with every durable entry", async () => {
  const [first, second] = [database.host("first"), database.host("second")];
  const session = await first.create({ cwd: "/work" });
  session.append(userMessage("hello"));
  session.append({ type: "session_info", name: "greeting" });
  await session.durable();
  session.close();
  await first.settled();
  expect(readdirSync(first.folder)).toEqual([]);

  const continued = await second.open(session.id);
  expect(texts(continued)).toEqual(["hello"]);
  expect(continued.header).toEqual(session.header);
  continued.append(userMessage("again"));
  await continued.durable();
  const [listed] = await second.list({ cwd: "/work" });
  expect(listed).toMatchObject({
    id: session.id,
    name: "greeting",
    firstWords: "hello",
    owner: "second",
    lines: 3,
  });
  continued.close();
  await second.settled();
  expect((await second.list({ cwd: "/work" }))[0]).not.toHaveProperty("owner");
});

test("only one host at a time opens a session, and the others learn its name", async () => {
  const [first, second] = [database.host("first"), database.host("second")];
  const session = await first.create({ cwd: "/work" });
  await expect(second.open(session.id)).rejects.toMatchObject({
    code: "session_leased",
    message: expect.stringContaining("first"),
  });
  await expect(second.delete(session.id)).rejects.toMatchObject({ code: "session_leased" });
  const waiting = second.open(session.id, { waitMs: 20_000 });
  session.close();
  const continued = await waiting;
  continued.close();
  await second.settled();
  await second.delete(session.id);
  await expect(second.open(session.id)).rejects.toMatchObject({ code: "session_not_found" });
});

test("a host whose lease another one took cannot write, and saves its lines as a branch", async () => {
  const [first, second] = [database.host("first"), database.host("second")];
  const session = await first.create({ cwd: "/work" });
  session.append(userMessage("stored"));
  await session.durable();
  // As after a pause: the lease is over, and another host has the session.
  await database.pool.query("update bonsai.sessions set lease_until = clock_timestamp() where id = $1", [
    session.id,
  ]);
  const taken = await second.open(session.id);
  session.append(userMessage("late"));
  const late = await session.durable().catch((error: unknown) => error as Error & { hint: string });
  expect(late).toMatchObject({ code: "session_lease_lost" });
  expect(() => session.append(userMessage("later"))).toThrow(
    expect.objectContaining({ code: "session_lease_lost" }),
  );
  taken.append(userMessage("mine"));
  await taken.durable();
  expect(texts(taken)).toEqual(["stored", "mine"]);
  taken.close();
  await second.settled();

  const file = /are in (\S+\.jsonl)/.exec(String((late as { hint?: string }).hint))![1]!;
  expect(await first.push(file)).toMatchObject({ id: session.id, isBranch: true });
  const merged = await second.open(session.id);
  expect(texts(merged)).toEqual(["stored", "mine", "late"]);
  expect(merged.path().flatMap((entry) => texts({ entries: () => [entry] }))).toEqual(["stored", "mine"]);
  expect(merged.branchCount).toBe(2);
  merged.close();
  await second.settled();
});

test("the next opening on a host saves the lines of a killed run", async () => {
  const host = database.host("killed");
  const session = await host.create({ cwd: "/work" });
  session.append(userMessage("stored"));
  await session.durable();
  const store = sharedStoreOf(session)!;
  const copy = readFileSync(store.file!);
  session.close();
  await host.settled();
  const unstored = JSON.stringify({
    ...userMessage("unstored"),
    id: "feedbeef",
    parentId: null,
    timestamp: "2026-01-01T00:00:00.000Z",
  });
  writeFileSync(join(host.folder, `${session.id}.1.jsonl`), `${copy}${unstored}\n`);
  const again = await host.open(session.id);
  expect(texts(again)).toEqual(["stored"]);
  const [saved] = readdirSync(host.folder).filter((file) => file.endsWith(".unstored.jsonl"));
  expect(readFileSync(join(host.folder, saved!), "utf8").split("\n")[1]).toBe(unstored);
  again.close();
  await host.settled();
});

test("a failed close gives the session to other hosts", async () => {
  const [first, second] = [database.host("first"), database.host("second")];
  const session = await first.create({ cwd: "/work" });
  session.append(userMessage("hello"));
  await session.durable();
  await database.pool.query("alter table bonsai.texts rename to missing");
  session.close();
  await expect(first.settled()).rejects.toMatchObject({ code: "database_not_initialised" });
  await database.pool.query("alter table bonsai.missing rename to texts");

  const continued = await second.open(session.id);
  expect(texts(continued)).toEqual(["hello"]);
  continued.close();
  await second.settled();
});

test("the next opening on a host appends the lines of a killed run, unless another host wrote since", async () => {
  const [host, other] = [database.host("appends"), database.host("other")];
  const session = await host.create({ cwd: "/work" });
  session.append(userMessage("stored"));
  await session.durable();
  const killed = async (id: string) => {
    const opened = await host.open(session.id);
    const copy = readFileSync(opened.file!);
    const { fence } = sharedStoreOf(opened)!;
    opened.close();
    await host.settled();
    const entry = { ...userMessage(id), id, parentId: opened.leafId, timestamp: "2026-01-01T00:00:00.000Z" };
    writeFileSync(
      join(host.folder, `${session.id}.${fence}.jsonl`),
      `${copy}${JSON.stringify(entry)}\n{"torn`,
    );
  };
  const saved: string[] = [];
  const reopened = async () => {
    const options = { appendsLeftovers: true, onLeftovers: (file: string) => saved.push(file) };
    const opened = await host.open(session.id, options);
    const found = texts(opened);
    opened.close();
    await host.settled();
    return found;
  };
  session.close();
  await host.settled();
  await killed("feedbeef");
  expect(await reopened()).toEqual(["stored", "feedbeef"]);
  await killed("deadbeef");
  const between = await other.open(session.id);
  between.append(userMessage("between"));
  between.close();
  await other.settled();
  expect(await reopened()).toEqual(["stored", "feedbeef", "between"]);
  expect(saved.map((file) => readFileSync(file, "utf8").split("\n")[1])).toEqual([
    expect.stringContaining("deadbeef"),
  ]);
});

test("pages of a list have each session once, also with equal times", async () => {
  const host = database.host("pages");
  await database.pool.query(
    `insert into bonsai.sessions (id, cwd, last_activity_at)
     select 'page-' || n, '/pages', '2026-01-01 00:00:00.000001'::timestamptz + n / 3 * interval '1 microsecond'
     from generate_series(1, 10) n`,
  );
  const ids: string[] = [];
  for (let page = await host.list({ cwd: "/pages", limit: 3 }); page.length > 0; ) {
    ids.push(...page.map(({ id }) => id));
    page = await host.list({ cwd: "/pages", limit: 3, after: page.at(-1)! });
  }
  expect([...ids].sort()).toEqual(Array.from({ length: 10 }, (_, at) => `page-${at + 1}`).sort());
});

test("durable entries survive a restart of the server in the middle of the work", async () => {
  const host = database.host("restart", { leaseMs: 20_000 });
  const session = await host.create({ cwd: "/work" });
  const restarted = database.server.restart();
  for (let number = 0; number < 50; number += 1) session.append(userMessage(`message ${number}`));
  await session.durable();
  await restarted;
  session.close();
  await host.settled();
  const again = await host.open(session.id);
  expect(texts(again)).toEqual(Array.from({ length: 50 }, (_, number) => `message ${number}`));
  again.close();
  await host.settled();
});

test("a file is pushed and pulled byte for byte, also with a torn last line", async () => {
  const host = database.host("copies");
  const folder = mkdtempSync(join(tmpdir(), "copies-"));
  const file = join(folder, "original.jsonl");
  const session = createSession({ cwd: "/work", file });
  session.append(userMessage("\u{1f333} and \ud800"));
  session.close();
  writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.from([0xff, 0x00, 0x22])]));
  expect(await host.push(file)).toMatchObject({ id: session.id, isBranch: false });
  await host.settled();
  await host.pull(session.id, join(folder, "copy.jsonl"));
  expect(readFileSync(join(folder, "copy.jsonl")).equals(readFileSync(file))).toBe(true);
  await expect(host.pull(session.id, file)).rejects.toMatchObject({ code: "session_exists" });
});

test("the stored bytes come once, also if the writer joins their segments in between, and gaps are refused", async () => {
  const { pool } = database;
  const add = (from: number, until: number) =>
    pool.query(
      `insert into bonsai.segments (session_id, fence, from_byte, to_byte, codec, data)
       values ('joined', 1, $1::int, $2::int, 0, convert_to(repeat('x', $2::int - $1::int), 'UTF8'))`,
      [from, until],
    );
  const page = 1 << 22;
  const size = page + 20;
  await pool.query("insert into bonsai.sessions (id, cwd, bytes) values ('joined', '/joined', $1)", [size]);
  for (const from of [0, 10, page, page + 10]) await add(from, from === 10 ? page : from + 10);
  const ends: number[] = [];
  for await (const { bytes, from } of storedParts(pool, "joined", [{ from: 0, until: size }])) {
    if (ends.length === 0) {
      await pool.query("delete from bonsai.segments where session_id = 'joined' and from_byte >= 10");
      await add(10, size);
    }
    expect(from).toBe(ends.at(-1) ?? 0);
    ends.push(from + bytes.length);
  }
  expect(ends).toEqual([10, page, size]);

  await pool.query("delete from bonsai.segments where session_id = 'joined' and from_byte = 0");
  const gap = storedParts(pool, "joined", [{ from: 0, until: size }]).next();
  await expect(gap).rejects.toMatchObject({ code: "session_not_found" });
});

test("opening a long session loads only its end, and older entries when they are read", async () => {
  const host = database.host("long", { leaseMs: 60_000 });
  const folder = mkdtempSync(join(tmpdir(), "long-"));
  const file = join(folder, "long.jsonl");
  const local = createSession({ cwd: "/work", file });
  const data = Array.from({ length: 5_000 }, (_, at) => `word${at}`).join(" ");
  for (let number = 0; number < 200; number += 1) local.append({ type: "custom", customType: "test", data });
  local.append(userMessage("the last words"));
  local.append({
    type: "compaction",
    summary: "many words",
    firstKeptEntryId: local.leafId!,
    tokensBefore: 1,
  });
  local.close();
  await host.push(file);
  const opened = await host.open(local.id);
  expect(opened.file).toBeUndefined();
  expect(opened.projection().items.map(({ message }) => message.role)).toEqual(["compactionSummary", "user"]);
  opened.append(userMessage("the newest"));
  await opened.durable();
  expect(opened.file).toBeUndefined();
  expect(opened.entries()).toHaveLength(203);
  expect(readFileSync(opened.file!, "utf8").startsWith(readFileSync(file, "utf8"))).toBe(true);
  opened.close();
  await host.settled();
});

test("search finds words and misspelt words, and stores no secrets", async () => {
  const host = database.host("search");
  const session = await host.create({ cwd: "/searched" });
  session.append(
    userMessage("The wisteria needs repotting. OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"),
  );
  session.close();
  await host.settled();
  expect(await host.search("wisteria", { cwd: "/searched" })).toMatchObject([
    { sessionId: session.id, role: "user" },
  ]);
  expect(await host.search("wistaria", { cwd: "/searched" })).toMatchObject([{ sessionId: session.id }]);
  expect(await host.search("wisteria", { cwd: "/elsewhere" })).toEqual([]);
  const { rows } = await database.pool.query("select body from bonsai.texts where session_id = $1", [
    session.id,
  ]);
  expect(JSON.stringify(rows)).not.toContain("abcdefghijklmnop");
});

test("watching yields every byte in order, while the session grows and its segments are joined", async () => {
  const host = database.host("watched", { leaseMs: 60_000 });
  const session = await host.create({ cwd: "/work" });
  const stop = new AbortController();
  const seen: Buffer[] = [];
  const size = () => seen.reduce((sum, part) => sum + part.length, 0);
  const watching = (async () => {
    for await (const part of database.host("watcher").watch(session.id, { signal: stop.signal }))
      seen.push(part);
  })();
  for (let number = 0; number < 20; number += 1) {
    session.append(userMessage(`message ${number} ${"text ".repeat(4_000)}`));
    await session.durable();
  }
  const bytes = Buffer.alloc(session.sizeBytes);
  session.store.read(bytes, 0);
  await expect.poll(size).toBe(bytes.length);
  expect(Buffer.concat(seen).equals(bytes)).toBe(true);
  stop.abort();
  await watching;
  session.close();
  await database.host("watched").settled();
});

test("a generated session with branches, compactions and masks reads the same from the database", async () => {
  const host = database.host("generated");
  const folder = mkdtempSync(join(tmpdir(), "generated-"));
  const file = join(folder, "generated.jsonl");
  generateSession({ file, entries: 400, compactions: 3, branchiness: 0.1 });
  const local = openSession(file);
  await host.push(file);
  const shared = await host.open(local.id);
  expect(shared.projection()).toEqual(local.projection());
  expect(shared.tree().entries).toEqual(local.tree().entries);
  shared.close();
  local.close();
  await host.settled();
});

testDrafts(() => database);
