import { BonsaiError, messageOf } from "@bonsai-agent/messages";
import { sleep } from "@bonsai-agent/messages/host";
import pg from "pg";

// Connections to the database. No error and no log contains a connection string: everything that uses the driver goes
// through `withoutSecrets`.

/** Statements of a pool or of one connection. */
export type Database = Pick<pg.Pool, "query">;

/** A statement without an answer for this long fails, and its connection is closed. */
const QUERY_TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 2_000;

/** Opens a pool for a URL such as `postgres://user@host:5432/database`. @throws BonsaiError `database_url_invalid` */
export function openPool(url: string, options: { max?: number } = {}): pg.Pool {
  checkUrl(url);
  const pool = new pg.Pool({
    connectionString: url,
    application_name: "bonsai",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    ...options,
  });
  // A printed pool must not show the password.
  Object.defineProperty(pool.options, "connectionString", { value: url, enumerable: false });
  // The next statement opens a new connection.
  pool.on("error", () => {});
  return pool;
}

function checkUrl(url: string): void {
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return;
  throw new BonsaiError({
    code: "database_url_invalid",
    // The text of the URL is left out: it may contain a password.
    message: "The database URL is invalid.",
    hint: "Give a URL such as postgres://user@host:5432/database. Encode special characters in the password as %XX.",
  });
}

/** Runs one statement. @param name plans it once for each connection @throws BonsaiError `database_failed`, `database_not_initialised` */
export async function query<Result extends object>(
  database: Database,
  text: string,
  values: readonly unknown[] = [],
  name?: string,
): Promise<Result[]> {
  const config = { text, values: [...values], query_timeout: QUERY_TIMEOUT_MS, ...(name && { name }) };
  return (await withoutSecrets(() => database.query<Result & pg.QueryResultRow>(config))).rows;
}

/** Runs statements in one transaction. @throws as `query`, and what `work` throws: then nothing changed */
export async function transaction<Result>(
  pool: pg.Pool,
  work: (connection: Database) => Promise<Result>,
): Promise<Result> {
  const connection = await withoutSecrets(() => pool.connect());
  // The statement that runs, or the next one, reports the lost connection.
  const ignore = () => {};
  connection.on("error", ignore);
  try {
    await query(connection, "begin");
    const result = await work(connection);
    await query(connection, "commit");
    connection.release();
    return result;
  } catch (error) {
    // A closed connection rolls its transaction back.
    connection.release(true);
    throw error;
  } finally {
    connection.off("error", ignore);
  }
}

/** Runs work of the driver. @throws as `query`, instead of the driver's errors */
export async function withoutSecrets<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw databaseError(error);
  }
}

/** Repeats work after transient failures, with growing pauses. @throws other failures, and any once `mayRetry` is false */
export async function retry<Result>(work: () => Promise<Result>, mayRetry = () => true): Promise<Result> {
  for (let pauseMs = FIRST_RETRY_MS; ; pauseMs = Math.min(MAX_RETRY_MS, pauseMs * 2)) {
    try {
      return await work();
    } catch (error) {
      if (!isTransientError(error) || !mayRetry()) throw error;
    }
    await sleep(pauseMs);
  }
}

/** Settings of a pool's connections, for connections outside the pool. */
export function connectionOf({ options }: pg.Pool): pg.ClientConfig {
  const { connectionString, host, port, user, password, database, ssl } = options;
  const connection = { connectionString, host, port, user, password, database, ssl };
  return Object.fromEntries(Object.entries(connection).filter(([, value]) => value !== undefined));
}

const UNDEFINED_TABLE = ["42P01", "3F000", "42883"];

/** Turns a failure of the driver or the server into an error without secrets and without the driver's objects. */
export function databaseError(failure: unknown): BonsaiError {
  if (BonsaiError.is(failure)) return failure;
  const code = codeOf(failure);
  if (UNDEFINED_TABLE.includes(code))
    return new BonsaiError({
      code: "database_not_initialised",
      message: "The database has no tables of Bonsai, or older ones.",
      hint: "Run `bonsai database init --database URL` with a role that may create tables.",
    });
  const error = new BonsaiError({
    code: "database_failed",
    message: `The database failed: ${withoutUrls(messageOf(failure)) || code}${code === "" ? "" : ` (${code})`}`,
    hint: "Check that the server runs and that the URL, the role and its rights are correct.",
  });
  if (isTransient(failure, code)) transient.add(error);
  return error;
}

function codeOf(failure: unknown): string {
  const { code, errors } = failure as { code?: unknown; errors?: readonly unknown[] };
  if (typeof code === "string") return code;
  return errors?.[0] === undefined ? "" : codeOf(errors[0]);
}

function withoutUrls(text: string): string {
  return text.replaceAll(/\b[a-z]+:\/\/\S+/gi, "[URL]");
}

const transient = new WeakSet<BonsaiError>();

/** True if the same statement may succeed later: the server restarts, the network failed, or two transactions collided. */
export function isTransientError(error: unknown): boolean {
  return BonsaiError.is(error) && transient.has(error);
}

const NETWORK_CODES = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN)$/;
/** Connection, insufficient resources, operator intervention, and collisions of transactions. */
const SERVER_CODES = /^(08|53|57P|40001|40P01|55P03)/;
/** The driver reports these without a code. */
const LOST_CONNECTION = /connection terminated|connection ended|timeout|not queryable|client was closed/i;

function isTransient(failure: unknown, code: string): boolean {
  if (code !== "") return NETWORK_CODES.test(code) || SERVER_CODES.test(code);
  return LOST_CONNECTION.test(messageOf(failure));
}
