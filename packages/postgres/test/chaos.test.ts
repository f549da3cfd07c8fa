import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sessionJobs } from "../src/jobs.ts";
import { type TestDatabase, testDatabase } from "./test-database.ts";

const LEASE_MS = 2_000;
const SESSIONS = 40;
/** Sessions with a second job. */
const SECOND_JOBS = 15;
const CUTS = 10;
const HOUR_MS = 3_600_000;
const program = fileURLToPath(new URL("fixtures/chaos-worker.ts", import.meta.url));

let database: TestDatabase;
let proxy: CuttingProxy;
const processes: ChildProcess[] = [];
beforeAll(async () => {
  database = await testDatabase();
  proxy = await CuttingProxy.start(Number(new URL(database.server.url).port));
});
afterAll(async () => {
  for (const each of processes) each.kill("SIGKILL");
  proxy.close();
  await database.stop();
});

/** Passes on connections to the server. It can cut one after its statement arrived and before its answer returns. */
class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Commits that still are to be cut. */
  cuts = 0;

  private constructor(port: number) {
    this.#server = createServer((client) => {
      const server = connect(port, "127.0.0.1");
      for (const socket of [client, server]) {
        this.#sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          this.#sockets.delete(socket);
          client.destroy();
          server.destroy();
        });
      }
      let isCut = false;
      client.on("data", (bytes) => {
        server.write(bytes);
        if (isCut || this.cuts === 0 || !bytes.includes("insert into bonsai.segments")) return;
        this.cuts -= 1;
        isCut = true;
      });
      server.on("data", (bytes) => {
        if (isCut) client.destroy();
        else client.write(bytes);
      });
    });
  }

  static async start(port: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(port);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

interface LogLine {
  what: string;
  sessionId: string;
  fence: number;
  jobId: string;
  leafId: string;
  isLate: boolean;
}

function readLog(folder: string): LogLine[] {
  const lines = readFileSync(join(folder, "log.txt"), "utf8").trim().split("\n");
  return lines.map((line) => {
    const [what = "", sessionId = "", fence, jobId = "", leafId = "", isLate] = line.split(" ");
    return { what, sessionId, fence: Number(fence), jobId, leafId, isLate: isLate === "true" };
  });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const isAscending = (numbers: readonly number[]) =>
  numbers.every((each, at) => at === 0 || numbers[at - 1]! <= each);

test("workers that crash, pause and lose connections do every job once and lose nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "chaos-"));
  writeFileSync(join(folder, "log.txt"), "");
  const url = database.server.url.replace(/:\d+\//, `:${proxy.port}/`);
  const host = database.host("harness", { leaseMs: LEASE_MS });
  const jobs = sessionJobs({ pool: database.pool, sessions: host });
  await jobs.init();
  const start = (name: string, workers: number, clockMs = 0) => {
    const node = ["--conditions=@bonsai-agent/source", "--no-warnings", program];
    const child = spawn(
      process.execPath,
      [...node, url, folder, name, `${workers}`, `${LEASE_MS}`, `${clockMs}`],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    processes.push(child);
    return child;
  };
  // Eight workers in three processes.
  const hosts = [start("a", 3, -HOUR_MS), start("b", 3, HOUR_MS), start("c", 2)];

  const sessionIds: string[] = [];
  for (let number = 0; number < SESSIONS; number += 1) {
    const session = await host.create({ cwd: "/work" });
    session.close();
    sessionIds.push(session.id);
    await jobs.enqueue({ sessionId: session.id, prompt: `${number}.1` });
    if (number < SECOND_JOBS) await jobs.enqueue({ sessionId: session.id, prompt: `${number}.2` });
  }
  await host.settled();
  const ended = async () =>
    (await jobs.list({ limit: 500 })).filter(({ state }) => state === "completed").length;
  await expect
    .poll(() => readFileSync(join(folder, "log.txt"), "utf8").length, { timeout: 20_000 })
    .toBeGreaterThan(0);

  hosts[0]!.kill("SIGKILL");
  start("d", 3);
  await pause(500);
  hosts[1]!.kill("SIGSTOP");
  proxy.cuts = CUTS;
  await pause(1_000);
  await database.server.restart();
  await pause(500);
  hosts[2]!.kill("SIGKILL");
  await pause(2 * LEASE_MS);
  hosts[1]!.kill("SIGCONT");
  await expect.poll(ended, { timeout: 45_000, interval: 500 }).toBe(SESSIONS + SECOND_JOBS);

  const outcomes = (await jobs.list({ limit: 500 })).map(({ outcome }) => outcome?.status);
  expect(new Set(outcomes)).toEqual(new Set(["done"]));
  const log = readLog(folder);
  const sent = log.filter(({ what }) => what === "send").map(({ jobId }) => jobId);
  expect(sent).toHaveLength(new Set(sent).size);
  expect(proxy.cuts).toBeLessThan(CUTS);
  for (const [at, sessionId] of sessionIds.entries()) {
    const inTime = log.filter((line) => line.sessionId === sessionId && !line.isLate);
    expect(isAscending(inTime.map(({ fence }) => fence))).toBe(true);
    const { rows } = await database.pool.query<{ fence: string; from_byte: string; to_byte: string }>(
      "select fence, from_byte, to_byte from bonsai.segments where session_id = $1 order by from_byte",
      [sessionId],
    );
    expect(isAscending(rows.map(({ fence }) => Number(fence)))).toBe(true);
    expect(rows.slice(1).map(({ from_byte }) => from_byte)).toEqual(
      rows.slice(0, -1).map(({ to_byte }) => to_byte),
    );
    const session = await host.open(sessionId, { waitMs: 10_000 });
    const acknowledged = log.filter(
      (line) => line.sessionId === sessionId && (line.what === "answered" || !line.isLate),
    );
    expect(acknowledged.filter(({ leafId }) => session.entry(leafId) === undefined)).toEqual([]);
    const prompts = session.entries().flatMap((entry) => JSON.stringify(entry).match(/"job \d+\.\d"/) ?? []);
    expect(prompts).toHaveLength(at < SECOND_JOBS ? 2 : 1);
    expect(session.problems()).toEqual([]);
    session.close();
  }
  await host.settled();

  const drained = processes.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  const codes = drained.map((child) => new Promise((resolve) => child.once("exit", resolve)));
  for (const child of drained) child.kill("SIGTERM");
  expect(await Promise.all(codes)).toEqual(drained.map(() => 0));
  await jobs.stop();
}, 120_000);
