import { escapeMarks, readSummary, splitReminders } from "@bonsai-agent/messages/host";
import { adversarialTexts, history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isEmptySummary, joinedProse, strippedSummary } from "../src/carry/carry-over.ts";
import { compactionSettings, digestSummariser, runCompaction } from "../src/index.ts";
import { patchedFiles, redirectedFiles } from "../src/record/file-operations.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

/** A compaction reads its text many times: a quarter of the length is enough. */
const COMPACTED_CHARS = process.env.LAW_RUNS ? 62_500 : 16_000;
const settings = compactionSettings({ keepRecentTokens: 200 }, { estimator: "chars4" });

const texts = (chars?: number) => fc.constantFrom(...adversarialTexts(chars));

test("law: every author reads a long text in linear time", () => {
  fc.assert(
    fc.property(texts(), ([, text]) => {
      expect(escapeMarks(escapeMarks(text))).toBe(escapeMarks(text));
      expect(strippedSummary(text).length).toBeGreaterThan(0);
      readSummary(`## Kept word for word\n${text}`, ["todo"]);
      expect(joinedProse("x", text).length).toBeGreaterThan(0);
      isEmptySummary(text);
      expect(splitReminders(text).own.length).toBeGreaterThan(0);
      patchedFiles(`*** Begin Patch\n${text}`);
      patchedFiles(text);
      redirectedFiles(text);
    }),
  );
});

test("law: a session with a summary of one repeated unit is compacted in linear time", async () => {
  await fc.assert(
    fc.asyncProperty(texts(COMPACTED_CHARS), async ([, text]) => {
      const { session, id } = history("U:900 A | U:9 A");
      session.append({ type: "compaction", firstKeptEntryId: id("u2"), tokensBefore: 900, summary: text });
      history("A:900 U:9000 A:300 | U:90 A:90", session);
      for (const summariser of [scriptedSummariser(), digestSummariser()]) {
        const { status } = await runCompaction({ session, settings, summariser });
        expect(["compacted", "already-compacted"]).toContain(status);
      }
    }),
  );
});
