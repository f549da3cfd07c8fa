import type { CompactionEntry } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { emptyRecord, readDetails, storedDetails } from "../src/details.ts";

const range = { count: 2, first: "a", last: "b" };
const count = { kept: 1, lost: 1, putBack: 0 };
const DETAILS = {
  prose: "Notes.",
  readFiles: ["a.ts"],
  modifiedFiles: ["b.ts"],
  recentFiles: ["b.ts"],
  recentEntries: ["a1"],
  pinned: ["Never push."],
  latestRequest: { entryId: "a", text: "Go on." },
  carryOver: { notes: ["n"] },
  record: emptyRecord,
  wordsTokens: 300,
  focus: "prices",
  closings: [{ turn: 1, entryId: "b", text: "Done." }],
  terms: ["[a] src/a.ts"],
  putBack: [],
  isBrief: true,
  manifest: {
    reason: "manual",
    rung: "summarise",
    tokensBefore: 900,
    tokensAfter: 90,
    splitTurn: false,
    summarised: range,
    turnPrefix: { count: 0 },
    kept: range,
    masked: ["b"],
    lost: { media: [], truncated: ["b"] },
    carried: { words: 1, wordsLeftOut: 0, knownTerms: 3 },
    loss: {
      failing: count,
      irreversible: count,
      openTodos: count,
      requests: count,
      terms: count,
      lostTerms: [{ term: "x" }],
    },
    requests: 1,
    calibration: { ratio: 1.2, overheadTokens: -5, samples: 7 },
    settings: { preset: "bonsai", estimator: "calibrated", keepTokens: 5, reserveTokens: 3 },
    state: { provider: "p", modelId: "m", thinkingLevel: "low" },
  },
};
const stored = (details: unknown, fromHook = false) =>
  storedDetails({ type: "compaction", fromHook, details } as unknown as CompactionEntry);

test("reads what a compaction stored", () => {
  expect(JSON.parse(JSON.stringify(stored(DETAILS)))).toEqual(JSON.parse(JSON.stringify(DETAILS)));
});

test("ignores an invalid part of stored details and keeps the others", () =>
  everyRow<[string, object, object]>([
    ["pinned", { pinned: [1, "keep"] }, { pinned: ["keep"] }],
    ["latestRequest", { latestRequest: { entryId: "a", text: 5 } }, { latestRequest: undefined }],
    ["carryOver", { carryOver: { x: 5, y: ["z"] } }, { carryOver: { x: [], y: ["z"] } }],
    ["manifest", { manifest: "x" }, { manifest: undefined }],
    ["manifest.kept", { manifest: { kept: { count: "x" } } }, { manifest: { kept: undefined, masked: [] } }],
    [
      "manifest.calibration",
      { manifest: { calibration: { ratio: -1 } } },
      { manifest: { calibration: undefined } },
    ],
    ["manifest.reason", { manifest: { reason: "boredom", rung: 5 } }, { manifest: { reason: undefined } }],
    ["manifest.tokensAfter", { manifest: { tokensAfter: -1 } }, { manifest: { tokensAfter: undefined } }],
  ])(([, odd, expected]) => {
    expect(stored({ ...DETAILS, ...odd })).toMatchObject({ prose: "Notes.", ...expected });
  }));

test("ignores an extension's own details, and reads those of Bonsai's summaries", () => {
  expect(stored({ ...DETAILS, recentFiles: undefined }, true).prose).toBeUndefined();
  expect(stored(DETAILS, true).prose).toBe("Notes.");
});

test("law: reads any details without an exception", () => {
  fc.assert(
    fc.property(
      fc.record({ manifest: fc.anything(), record: fc.anything(), carryOver: fc.anything() }),
      (odd) => {
        readDetails({ ...DETAILS, ...odd });
      },
    ),
  );
});
