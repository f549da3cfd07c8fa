import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WireName } from "@bonsai-agent/testkit";
import { expect, onTestFinished } from "vitest";
import { type FaultOutcome, runFault } from "../bench/run-fault.ts";
import { type FaultName, faults } from "./misbehaving-server.ts";

/** The error's code, or the status where there is no error, and the requests that were made. */
type Ending = readonly [ending: string, requests: number];

/** Given up after a retry, or at once. */
const broken: Ending = ["model_failed", 2];
const refused: Ending = ["model_failed", 1];
const done: Ending = ["done", 1];
const goesOn: Ending = ["done", 2];
const empty: Ending = ["answer_empty", 2];
const stopped: Ending = ["run_request_limit", 6];

type Endings = Ending | Readonly<Record<WireName, Ending>>;

function each(anthropic: Ending, responses: Ending, chat: Ending): Endings {
  return { "anthropic-messages": anthropic, "openai-responses": responses, "openai-chat": chat };
}

/** How a run ends, fault by fault; where a protocol has no such part, its reader passes over what it does not know. */
const endings: Readonly<Record<FaultName, Endings>> = {
  "connection refused": broken,
  "cut after the head": broken,
  "cut in an event": broken,
  "cut in a character": broken,
  "cut before the end": broken,
  "closed before the end": broken,
  "cut in the arguments": broken,
  "stall before the head": broken,
  "stall after the head": broken,
  "stall in the middle": broken,
  "pings without end": broken,
  "pings behind a text": broken,
  "events that are no JSON": broken,
  "a page with status 200": refused,
  "another content type": done,
  "an event that is null": broken,
  "an event that is a list": broken,
  "an event that is a number": broken,
  "a part that is null": broken,
  "a part that is a list": each(done, done, broken),
  "a part that is a number": each(done, done, broken),
  "a list that is an object": each(done, broken, broken),
  "a delta that is null": done,
  "a text that is an object": each(broken, done, done),
  "a content that is [null]": done,
  "events of unknown types": done,
  "events out of order": each(empty, broken, broken),
  "every event twice": goesOn,
  "a call without a name": goesOn,
  "a call without an id": goesOn,
  "calls whose id is a number": goesOn,
  "arguments that are no JSON": goesOn,
  "one line without end": refused,
  "text without end": refused,
  "thinking without end": refused,
  "thousands of calls": refused,
  "an event nested deep": each(done, broken, done),
  "arguments nested deep": goesOn,
  "usage of 1e15": done,
  "usage below zero": done,
  "usage that is a text": done,
  "usage of fractions": done,
  "usage of zero": done,
  "usage far above the request": done,
  "output far above the answer": done,
  "no usage": done,
  "calls without end": stopped,
  "the same call without end": stopped,
  "an empty answer": empty,
  "a blank answer": empty,
  "thinking and nothing else": empty,
  "a refusal in new words": refused,
  // Nothing can be made smaller, so the request is sent once more: what a server claims once can be wrong.
  "an overflow in new words": ["context_overflow", 2],
  "413 without a body": ["model_failed", 2],
  "429 without a body": broken,
  "500 with a page": broken,
  "503 without a body": broken,
  "a redirection": refused,
  "retry-after of 1e9": refused,
  "retry-after below zero": broken,
  "retry-after in the past": broken,
};

const BARE =
  /TypeError|RangeError|is not a function|is not iterable|Cannot (read|destructure|convert)|undefined/;

export const faultNames = Object.keys(faults) as FaultName[];

/** Faults with a different ending in another protocol. The check sends all others over the first protocol only. */
export const ownFaults = faultNames.filter((fault) => !Array.isArray(endings[fault]));

/** Runs at once: most of them wait for a time limit or a file. */
const BATCH = 8;

/** Expects each fault to end as in the table, with a sound session file and an answer to the next prompt. */
export async function expectEndings(wire: WireName, names: readonly FaultName[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-faults-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const outcomes: FaultOutcome[] = [];
  for (let at = 0; at < names.length; at += BATCH) {
    const batch = names.slice(at, at + BATCH);
    outcomes.push(...(await Promise.all(batch.map((fault) => runFault({ wire, fault, folder })))));
  }
  expect(names.map((fault, at) => [fault, endOf(outcomes[at]!)])).toEqual(
    names.map((fault) => {
      const ending = endings[fault];
      const [ended, requests] =
        wire in ending ? (ending as Record<WireName, Ending>)[wire] : (ending as Ending);
      const ignoresUsage = /usage (of 1e15|below|that|of f|far)|output far/.test(fault);
      return [fault, { ended, requests, ignoresUsage, ...SOUND }];
    }),
  );
}

const SOUND = { bareMessage: undefined, compactionFailed: false, problems: [], next: "All is well." };

function endOf({ code, status, requests, message = "", notices, problems, next }: FaultOutcome) {
  return {
    ended: code ?? status,
    requests,
    ignoresUsage: notices.includes("usage_ignored"),
    bareMessage: BARE.exec(message)?.[0],
    compactionFailed: notices.includes("compaction_failed"),
    problems,
    next,
  };
}
