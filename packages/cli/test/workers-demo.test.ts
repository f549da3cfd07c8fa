import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { POSTGRES_PACKAGE } from "../src/demo/postgres-program.ts";
import { type DemoState, workersPicture } from "../src/demo/workers-view.ts";
import { renderLine } from "../src/views/line.ts";
import { textWidth } from "../src/views/terminal-text.ts";
import { runCli } from "./run-cli.ts";

const worker = { owner: "host:1", isRestarted: false };
const session = { id: "a", entries: 20, fence: 2, owner: undefined };
const killed = { killed: "w2", killedMs: 8_000, session: "s2" };
const state: DemoState = {
  nowMs: 31_400,
  leaseSeconds: 10,
  server: "PostgreSQL 18.4",
  workers: [
    { ...worker, name: "w1", state: "working", sessionId: "a" },
    { ...worker, name: "w2", owner: "host:2", state: "killed", sessionId: "b", killedMs: 8_000 },
    { ...worker, name: "w3", owner: "host:3", state: "working", sessionId: "c", isRestarted: true },
    { ...worker, name: "w4", owner: "host:4", state: "waiting" },
    { ...worker, name: "w5", owner: "host:5", state: "starting" },
  ],
  sessions: [
    { ...session, name: "s1", owner: "host:1" },
    { ...session, name: "s2", id: "b", entries: 7 },
    { ...session, name: "s3", id: "c", entries: 40, fence: 4, owner: "host:3" },
  ],
  continuations: [killed, { ...killed, killed: "w5", session: "s3", by: "w3", continuedMs: 20_300 }],
  jobs: { done: 3, working: 2, waiting: 1 },
  calls: { ended: 31, uncertain: 1 },
};

const picture = (width: number, height: number) =>
  workersPicture(state, { width, height }).map((line) => renderLine(line, false));

test("the picture shows each worker, each session and the counts", () => {
  expect(picture(100, 40).join("\n")).toMatchInlineSnapshot(`
    "bonsai worker --demo 31 s · PostgreSQL 18.4
    Lease: 10 s here, 45 s by default

    w1  working on s1
    w2  killed 23 s ago while it worked on s2
    w3  restarted, working on s3
    w4  waiting
    w5  starting

    s1  █████·····  20 entries  w1  fence 2
    s2  ██········   7 entries  –   fence 2
    s3  ██████████  40 entries  w3  fence 4
    s2 waits: w2 was killed 23 s ago
    s3 continued on w3, 12 s after w5 was killed

    jobs   3 done · 2 in work · 1 waiting
    calls  31 ended · 1 may have run"
  `);
});

test("the picture stays within the terminal", () => {
  for (const [width, height] of [
    [40, 10],
    [45, 23],
    [200, 60],
  ] as const) {
    const lines = picture(width, height);
    expect(lines.length).toBeLessThanOrEqual(height);
    expect(lines.filter((line) => textWidth(line) > width)).toEqual([]);
    expect(lines.join("\n")).toContain("w2  killed 23 s ago");
  }
});

test("the demo downloads no server without a terminal to ask on", async () => {
  const { code, stderr } = await runCli(["worker", "--demo"], { env: { PATH: "/nonexistent" } });
  expect(code).toBe(1);
  expect(stderr).toContain("[postgres_missing]");
  expect(stderr).toMatch(/Add --yes to download PostgreSQL .*MB/);
});

test("the demo downloads no server if the user declines", async () => {
  const { code, stderr } = await runCli(["worker", "--demo"], {
    env: { PATH: "/nonexistent" },
    typed: "n\n",
  });
  expect([code, stderr]).toEqual([130, expect.stringContaining("Nothing was downloaded.")]);
});

test("the demo refuses a server that it cannot reach, without its URL", async () => {
  const url = "postgres://someone:s3cret-Passw0rd@127.0.0.1:1/none";
  const { code, stdout, stderr } = await runCli(["worker", "--demo", "--database", url]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("[database_failed]")]);
  expect(stdout + stderr).not.toContain("s3cret");
});

test("the demo installs the version of the server that the tests use", () => {
  const manifest = new URL("../../postgres-server/package.json", import.meta.url);
  expect(JSON.parse(readFileSync(manifest, "utf8")).dependencies).toEqual({
    [POSTGRES_PACKAGE.name]: POSTGRES_PACKAGE.version,
  });
});
