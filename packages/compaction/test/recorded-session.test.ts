import { copyFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSession, type Session } from "@bonsai-agent/session";
import { generateWorkday, history, recordedSession } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { compactionSettings, planCompaction, runCompaction } from "../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-recorded-"));

const settings = compactionSettings();
const model = { contextWindow: 200_000 };

function opened(source: string, name: string): Session {
  const file = join(folder, name);
  copyFileSync(source, file);
  return openSession(file);
}

/** Three compactions with work in between; what the first listed is still there after the third. */
async function compactThrice(session: Session): Promise<void> {
  const plan = planCompaction({ session, settings, model });
  const first = await runCompaction({ session, settings, model });
  expect(first).toMatchObject({
    status: "compacted",
    rung: "digest",
    firstKeptEntryId: plan.firstKeptEntryId,
  });
  expect(first.tokensAfter).toBeLessThan(first.tokensBefore / 2);
  const demands = userLines(first.summary);
  expect(demands.length).toBeGreaterThan(5);
  for (let round = 0; round < 2; round++) {
    history("U:9000 A:9000 | U:9000 A:9000", session);
    expect((await runCompaction({ session, settings, model })).status).toBe("compacted");
  }
  const shown = session.projection().items[0]?.message;
  const summary = shown?.role === "compactionSummary" ? shown.summary : "";
  // The digest can drop a short remark for later ones, and a clipped message loses its line breaks.
  const beginnings = demands
    .map((line) => line.replace(/\(asked: .*?\) /, "").slice(0, 40))
    .filter((line) => line.split(" ").length > 4);
  expect(beginnings.filter((line) => !summary.includes(line))).toEqual([]);
  const { readFiles, modifiedFiles } = first;
  const last = session.projection().compaction?.details as { readFiles: string[]; modifiedFiles: string[] };
  expect(last.modifiedFiles).toEqual(expect.arrayContaining(modifiedFiles));
  expect([...last.readFiles, ...last.modifiedFiles]).toEqual(expect.arrayContaining(readFiles));
  session.close();
}

/** The lines of the user's own words in the summary. */
function userLines(summary = ""): string[] {
  const [block = ""] = summary.split("\n<user-words>\n")[1]?.split("\n</user-words>\n", 1) ?? [];
  return block.split("\n").filter((line) => /^\d+\. (?!agent:|program:|extension )/.test(line));
}

test.each(sources())(
  "three compactions of %s keep the user's words and the files of the first",
  async (_, source) => {
    await compactThrice(opened(source, "day.jsonl"));
  },
);

/** A made working day always, a recorded one where it is there. */
function sources(): Array<[string, string]> {
  const made = join(folder, "made.jsonl");
  generateWorkday({ file: made, seed: 7, entries: 900 });
  const recorded = recordedSession();
  const found: Array<[string, string]> = recorded === undefined ? [] : [["a recorded one", recorded]];
  return [["a made working day", made], ...found];
}
