import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openPool } from "@bonsai-agent/postgres";
import { embeddedProgram, startPostgres } from "@bonsai-agent/postgres-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Bonsai } from "./bonsai-process.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "workers-"));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = embeddedProgram(
  fileURLToPath(new URL("../../postgres-server/package.json", import.meta.url)),
);

/** The demo with a temporary folder of its own. */
function demo(
  name: string,
  ...words: string[]
): { bonsai: Bonsai; left: () => { files: string[]; processes: string[] } } {
  const place = join(folder, name);
  mkdirSync(place, { mode: 0o755 });
  const homes = { BONSAI_HOME: join(folder, "home"), HOME: folder };
  const env = {
    PATH: [join(program, "bin"), process.env.PATH].join(delimiter),
    TMPDIR: place,
  };
  const bonsai = new Bonsai({ cwd: folder, env: homes }, ["worker", "--demo", "--json", ...words], env);
  // With their environments, which name the folder.
  const processes = () => spawnSync("ps", ["axeww"], { encoding: "utf8" }).stdout.split("\n");
  return {
    bonsai,
    left: () => ({
      files: readdirSync(place).filter((file) => file.startsWith("bonsai-workers")),
      processes: processes().filter((line) => line.includes(place)),
    }),
  };
}

const WORKERS = 8;
const NOTHING = { files: [], processes: [] };

test("two workers are killed, their sessions continue on others, and nothing remains", async () => {
  const { bonsai, left } = demo("own");
  const { code, stdout } = await bonsai.ended;
  expect(code).toBe(0);
  const events = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const names = events.map(({ event }) => event);
  expect(names.filter((name) => name === "killed")).toHaveLength(2);
  expect(names.filter((name) => name === "continued")).toHaveLength(2);
  expect(events.at(-1)).toMatchObject({ event: "ended", sessions: 6, commands: 90 });
  for (const { by, killed } of events.at(-1).continuations) expect(by).not.toBe(killed);
  expect(left()).toEqual(NOTHING);
});

test("a given server keeps its databases", async () => {
  const server = await startPostgres({ folder: join(folder, "server"), settings: { fsync: "off" } });
  const pool = openPool(server.url, { max: 1 });
  const databases = async () => (await pool.query("select datname from pg_database order by 1")).rows;
  const before = await databases();
  const { bonsai, left } = demo("given", "--database", server.url);
  expect((await bonsai.ended).code).toBe(0);
  expect(await databases()).toEqual(before);
  expect(left()).toEqual(NOTHING);
  await pool.query("create role guest login");
  const guest = demo("guest", "--database", server.url.replace("bonsai@", "guest@"));
  const { code, stderr } = await guest.bonsai.ended;
  expect([code, stderr]).toEqual([1, expect.stringContaining("demo_database_refused")]);
  await pool.end();
  await server.stop();
});

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"] as const)
  test(`nothing remains after ${signal}`, async () => {
    const { bonsai, left } = demo(signal);
    await bonsai.printed('"killed"');
    expect(left().processes.length).toBeGreaterThan(WORKERS);
    bonsai.child.kill(signal);
    const { code } = await bonsai.ended;
    expect(code).toBe(signal === "SIGKILL" ? null : 130);
    await expect.poll(left, { timeout: 20_000 }).toEqual(NOTHING);
  });
