import { openSync, writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import pg from "pg";
import { databaseError } from "./database.ts";
import type { HistoryAnswer, HistoryThread } from "./history-loader.ts";
import { type ByteRange, storedParts } from "./segment.ts";

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
  const loaded = { ...range };
  for await (const { bytes, from } of storedParts(await connected(), sessionId, [range])) {
    for (let at = 0; at < bytes.length; ) at += writeSync(target, bytes, at, bytes.length - at, from + at);
    loaded.from = Math.min(loaded.from, from);
    loaded.until = Math.max(loaded.until, from + bytes.length);
  }
  return loaded;
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
