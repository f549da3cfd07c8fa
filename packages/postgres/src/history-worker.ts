import { openSync, writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import pg from "pg";
import { databaseError } from "./database.ts";
import type { HistoryAnswer, HistoryThread } from "./history-loader.ts";
import { type Segment, unpackSegment } from "./segment.ts";
import type { ByteRange } from "./working-copy.ts";

// The program of a `HistoryLoader`.

const { connection, sessionId, file, answered, port } = workerData as HistoryThread;
const target = openSync(file, "r+");
let client: pg.Client | undefined;

async function connected(): Promise<pg.Client> {
  if (client !== undefined) return client;
  const opened = new pg.Client({ ...connection, application_name: "bonsai history" });
  opened.on("error", () => {
    client = undefined;
  });
  await opened.connect();
  client = opened;
  return opened;
}

async function load(range: ByteRange): Promise<HistoryAnswer> {
  const { rows } = await (await connected()).query<Segment>(
    "select from_byte, to_byte, codec, data from bonsai.segments where session_id = $1 and from_byte < $3 and to_byte > $2 order by from_byte",
    [sessionId, range.from, range.until],
  );
  for (const segment of rows) {
    const bytes = unpackSegment(segment);
    for (let at = 0; at < bytes.length; )
      at += writeSync(target, bytes, at, bytes.length - at, Number(segment.from_byte) + at);
  }
  const from = Number(rows[0]?.from_byte ?? Number.NaN);
  const until = Number(rows.at(-1)?.to_byte ?? Number.NaN);
  const isComplete = from <= range.from && until >= range.until;
  return isComplete ? { from, until } : { problem: "the database lacks it: the session was deleted" };
}

port.on("message", async (range: ByteRange) => {
  let answer: HistoryAnswer;
  try {
    // A connection may have been lost since the last time.
    answer = await load(range).catch(() => load(range));
  } catch (error) {
    client = undefined;
    answer = { problem: databaseError(error).message };
  }
  port.postMessage(answer);
  Atomics.store(answered, 0, 1);
  Atomics.notify(answered, 0);
});
