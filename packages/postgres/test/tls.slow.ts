import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { databaseStatus, openPool } from "../src/index.ts";
import { sessionJobs } from "../src/jobs.ts";
import { type TestDatabase, testDatabase } from "./test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await sessionJobs({ pool: database.pool, sessions: database.host("owner") }).init();
});
afterAll(() => database.stop());

test("a URL with sslmode=verify-full connects only to a server with a certificate of its authority", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tls-"));
  chmodSync(folder, 0o755);
  const path = (name: string) => join(folder, name);
  const openssl = (...args: string[]) =>
    expect(spawnSync("openssl", args, { encoding: "utf8" })).toMatchObject({ status: 0 });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  for (const name of ["ca", "other"])
    openssl(
      "req",
      "-x509",
      ...key,
      "-keyout",
      path(`${name}.key`),
      "-out",
      path(`${name}.pem`),
      "-subj",
      "/CN=ca",
    );
  writeFileSync(path("names"), "subjectAltName=IP:127.0.0.1");
  openssl(
    "req",
    ...key.slice(0, -2),
    "-keyout",
    path("server.key"),
    "-out",
    path("server.csr"),
    "-subj",
    "/CN=db",
  );
  const signed = [
    "-CA",
    path("ca.pem"),
    "-CAkey",
    path("ca.key"),
    "-CAcreateserial",
    "-extfile",
    path("names"),
  ];
  openssl("x509", "-req", "-days", "2", "-in", path("server.csr"), ...signed, "-out", path("server.pem"));
  chmodSync(path("server.key"), 0o600);
  // Under root, the server has another user.
  if (process.getuid?.() === 0) chownSync(path("server.key"), 65_534, 65_534);
  for (const [name, value] of [
    ["ssl_cert_file", path("server.pem")],
    ["ssl_key_file", path("server.key")],
  ])
    await database.pool.query(`alter system set ${name} = '${value}'`);
  await database.pool.query("alter system set ssl = on");
  await database.pool.query("select pg_reload_conf()");

  const url = database.server.url.replace("bonsai@", "bonsai:s3cret-Passw0rd@");
  const encrypted = async (host: string, authority: string) => {
    const query = `?sslmode=verify-full&sslrootcert=${path(authority)}`;
    const pool = openPool(`${url.replace("127.0.0.1", host)}${query}`);
    try {
      await databaseStatus(pool);
      const { rows } = await pool.query("select ssl from pg_stat_ssl where pid = pg_backend_pid()");
      await sessionJobs({ pool, sessions: database.host("tls") }).enqueue({ sessionId: "none", prompt: "x" });
      return rows[0].ssl;
    } catch (error) {
      expect(inspect(error, { depth: 8 })).not.toMatch(/s3cret|postgres:\/\//);
      return (error as Error).message;
    } finally {
      await pool.end();
    }
  };
  await expect.poll(() => encrypted("127.0.0.1", "ca.pem")).toBe(true);
  expect(await encrypted("127.0.0.1", "other.pem")).toMatch(/The database failed: .*certificate/);
  expect(await encrypted("localhost", "ca.pem")).toMatch(/The database failed: .*altnames/);
  expect(await encrypted("127.0.0.1", "missing.pem")).toMatch(/The database failed: ENOENT/);
});
