import type { Session } from "@bonsai-agent/session";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { CompactionController, compactionSettings, readContext } from "../src/index.ts";

const settings = compactionSettings();

interface Stored {
  overheadTokens: number;
  ratio?: number;
  tokensBefore?: number;
}

/** Appends a compaction as older versions stored it: with a calibration that may come from a refusal's claim. */
function compacted(session: Session, { overheadTokens, ratio = 1, tokensBefore = 21_000 }: Stored) {
  const calibration = { ratio, overheadTokens, samples: 4 };
  const manifest = { reason: "overflow", tokensBefore, calibration, settings: { windowTokens: 32_768 } };
  session.append({
    type: "compaction",
    summary: "Earlier work.",
    // The latest answer and the request after it.
    firstKeptEntryId: session.path().at(-2)!.id,
    tokensBefore,
    details: { prose: "Earlier work.", recentFiles: [], manifest },
  });
}

const overheadOf = (session: Session) =>
  readContext({ session, estimator: settings.estimator }).overheadTokens();

const USAGE = "U:100 A:4000@6000 | U:100 A:4000@11000 | U:100 A:4000@16000 | U:100 A:4000@21000 | U:50";

test("a stored calibration is believed only if it is possible", () =>
  everyRow<[string, Stored, boolean]>([
    ["an overhead above the whole usage", { overheadTokens: 68_654 }, false],
    [
      "a size above the usage, with an overhead below it",
      { overheadTokens: 17_000, tokensBefore: 111_490 },
      false,
    ],
    ["a ratio that no model has", { overheadTokens: 1_500, ratio: 9 }, false],
    ["what usage showed", { overheadTokens: 2_000 }, true],
  ])(([, stored, isBelieved]) => {
    const { session } = history(USAGE);
    compacted(session, stored);
    expect(overheadOf(session)).toBe(isBelieved ? stored.overheadTokens : 0);
  }));

test("a record that repeats a contradicted one is contradicted too", () => {
  const { session } = history(USAGE);
  compacted(session, { overheadTokens: 17_000, tokensBefore: 111_490 });
  session.append({ type: "message", message: { role: "user", content: "go on", timestamp: 0 } });
  compacted(session, { overheadTokens: 17_000, tokensBefore: 18_000 });
  expect(overheadOf(session)).toBe(0);
});

test("without any usage, an overhead that a refusal claimed is not believed above that of every known program", () => {
  const { session } = history("U:100 A:4000 | U:100 A:4000 | U:50");
  compacted(session, { overheadTokens: 68_654 });
  expect(overheadOf(session)).toBe(0);
});

test("a context that only a learned size holds back is sent once for each user message", async () => {
  const { session } = history("U:100 A:100@63000 | U:50");
  compacted(session, { overheadTokens: 58_000, tokensBefore: 63_000 });
  const controller = new CompactionController({
    session,
    settings,
    model: () => ({ contextWindow: 32_768 }),
  });
  const sent = async () => (await controller.fitBeforeSending()).status;
  expect(overheadOf(session)).toBe(58_000);
  expect([await sent(), await sent()]).toEqual(["skipped", "failed"]);
  controller.userMessageArrived();
  expect([await sent(), await sent()]).toEqual(["skipped", "failed"]);
});
