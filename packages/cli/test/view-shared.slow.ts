import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { initDatabase, openPool, sharedSessions } from "@bonsai-agent/postgres";
import { type PostgresServer, startPostgres } from "@bonsai-agent/postgres-server";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { runCli } from "./run-cli.ts";

let folder: string;
let server: PostgresServer;
let env: Record<string, string>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "view-"));
  chmodSync(folder, 0o755);
  server = await startPostgres({ folder: join(folder, "server"), settings: { fsync: "off" } });
  env = { BONSAI_HOME: join(folder, "home"), BONSAI_DATABASE: server.url };
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("bonsai view follows a shared session, also after a restart of the server", async () => {
  const pool = openPool(server.url);
  await initDatabase(pool);
  const sessions = sharedSessions({ pool, owner: "writer", folder: join(folder, "writer") });
  const session = await sessions.create({ cwd: folder });
  const append = async (content: string) => {
    session.append({ type: "message", message: { role: "user", content, timestamp: 1 } });
    await session.durable();
  };
  await append("one");
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const address = Promise.withResolvers<string>();
  const view = runCli(["view", session.id.slice(0, 13), "--no-open", "--json"], {
    ...{ env, cwd: folder, signal: stop.signal },
    onOutput: (text) => {
      const url = /"url": ?"([^"]+)"/.exec(text)?.[1];
      if (url !== undefined) address.resolve(url);
    },
  });
  void view.then(({ stderr }) => address.reject(new Error(stderr)));
  const url = await address.promise;
  const shown = async () => {
    const { data } = (await (await fetch(`${url}data`)).json()) as { data: { rows: { previews: string[] } } };
    return data.rows.previews;
  };
  const isWatched = async () =>
    (
      await pool.query("select watched_until > now() as watched from bonsai.sessions where id = $1", [
        session.id,
      ])
    ).rows[0].watched;
  expect(await shown()).toEqual(["one"]);
  // From then on, the writer notifies.
  await expect.poll(isWatched).toBe(true);
  await append("two");
  await expect.poll(shown).toEqual(["one", "two"]);
  await server.restart();
  await append("three");
  await expect.poll(shown, { timeout: 10_000 }).toEqual(["one", "two", "three"]);
  stop.abort();
  expect(await view).toMatchObject({ code: 0, stderr: "" });
  session.close();
  await sessions.settled();
  await pool.end();
});
