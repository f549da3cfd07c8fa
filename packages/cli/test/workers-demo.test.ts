import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { POSTGRES_PACKAGE } from "../src/demo/postgres-program.ts";
import { type DemoState, workersPicture } from "../src/demo/workers-view.ts";
import { renderLine } from "../src/views/line.ts";
import { textWidth } from "../src/views/terminal-text.ts";
import { runCli } from "./run-cli.ts";

const running = { process: { signalCode: null } };
const killed = { process: { signalCode: "SIGKILL" } };
const session = { name: "session 2", ran: 15 };
const state: DemoState = {
  nowMs: 31_400,
  workers: [
    { ...running, name: "w1", session: { name: "session 1", ran: 8 } },
    { ...killed, name: "w2", session: { name: "session 3", ran: 3 } },
    { ...running, name: "w3", session },
    { ...killed, name: "w4", session },
    { ...running, name: "w5" },
  ],
  commands: 15,
  events: [
    { text: "5 workers share 3 sessions." },
    { text: "w4 was killed while session 2 ran a command." },
    { text: "w3 continued session 2, 12 s after w4 was killed." },
    { text: "w2 was killed while session 3 ran a command." },
  ],
};

const picture = (width: number, height: number) =>
  workersPicture(state, { width, height }).map((line) => renderLine(line, false));

test("the picture shows each worker and the events", () => {
  expect(picture(100, 40).join("\n")).toMatchInlineSnapshot(`
    "bonsai worker --demo  31 s
    5 workers share 3 sessions.

    w1  session 1  █████·····  8 of 15 commands
    w2  killed, session 3 waits
    w3  session 2  ██████████  15 of 15 commands
    w4  killed
    w5  no session

    w4 was killed while session 2 ran a command.
    w3 continued session 2, 12 s after w4 was killed.
    w2 was killed while session 3 ran a command."
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
    expect(lines.join("\n")).toContain("w2  killed, session 3 waits");
  }
});

test("the demo downloads no server without a terminal to ask on", async () => {
  const { code, stderr } = await runCli(["worker", "--demo"], { env: { PATH: "/nonexistent" } });
  expect(code).toBe(1);
  expect(stderr).toContain("[postgres_missing]");
  expect(stderr).toMatch(/--yes\s+to\s+download\s+PostgreSQL.*MB/s);
});

test("the demo downloads no server if the user declines", async () => {
  const { code, stderr } = await runCli(["worker", "--demo"], {
    env: { PATH: "/nonexistent" },
    typed: "n\n",
  });
  expect([code, stderr]).toEqual([1, expect.stringContaining("[postgres_missing]")]);
  expect(stderr).not.toContain("npm downloads");
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
