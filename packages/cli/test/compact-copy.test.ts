import { chmodSync, copyFileSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { recordedSession } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { CompactionReport } from "../src/views/compact-view.ts";
import type { ContextItem } from "../src/views/context-report.ts";
import type { SessionReport } from "../src/views/session-report.ts";
import { longSession, sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

describe("bonsai compact -o", () => {
  test("writes one file that only its owner can read", async () => {
    const file = longSession();
    chmodSync(file, 0o644);
    const folder = testFolder();
    await jsonOf(["compact", file, "-o", join(folder, "deep", "copy.jsonl")]);
    expect(statSync(join(folder, "deep", "copy.jsonl")).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(folder, "deep"))).toEqual(["copy.jsonl"]);
  });

  test("copies the session if there is nothing to compact", async () => {
    const file = writeLines(sampleLines());
    const copy = join(testFolder(), "copy.jsonl");
    expect(await jsonOf(["compact", file, "-o", copy])).toMatchObject({ status: "nothing-to-compact" });
    expect(readFileSync(copy).equals(readFileSync(file))).toBe(true);
    const another = join(testFolder(), "another.jsonl");
    const { stdout } = await runCli(["compact", file, "-o", another]);
    expect(stdout).toMatch(/Nothing to compact.*\nSaved to .*another\.jsonl\n$/s);
    expect((await runCli(["compact", file])).stdout).not.toContain("Saved to");
  });

  test("one of two calls at once writes the copy, and the other fails", async () => {
    const file = longSession();
    const folder = testFolder();
    const argv = ["compact", file, "-o", join(folder, "copy.jsonl"), "--json"];
    const runs = await Promise.all([runCli(argv), runCli(argv)]);
    expect(runs.map(({ code }) => code).sort()).toEqual([0, 1]);
    const loser = runs.find(({ code }) => code === 1)!;
    expect(JSON.parse(loser.stderr).error.code).toBe("output_exists");
    expect(readdirSync(folder)).toEqual(["copy.jsonl"]);
  });

  test("never overwrites a file", async () => {
    const file = longSession();
    const { code, stderr } = await runCli(["compact", file, "-o", file, "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stderr).error.code).toBe("output_exists");
  });

  // The recorded session is not part of the repository; the generated one below covers the same claim without it.
  const recorded = recordedSession();
  if (recorded !== undefined) {
    test("works on a recorded session of version 1", async () => {
      const file = join(testFolder(), "recorded.jsonl");
      copyFileSync(recorded, file);
      await compactVersion1(file);
    });
  }

  test("works on a generated session of version 1", async () => {
    const file = longSession();
    const lines = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const [{ version: _version, ...header }, ...entries] = lines;
    const linear = entries
      .filter((entry) => entry.type === "message")
      .map(({ id, parentId, ...entry }) => entry);
    await compactVersion1(writeLines([header, ...linear]));
  });
});

async function compactVersion1(file: string): Promise<void> {
  const before = readFileSync(file);
  const copy = join(testFolder(), "copy.jsonl");
  const report = await jsonOf<CompactionReport>(["compact", file, "--digest", "-o", copy]);
  expect(report.status).toBe("compacted");
  expect(readFileSync(file).equals(before)).toBe(true);
  const items = await jsonOf<ContextItem[]>(["context", copy]);
  expect(items.map(({ entryId }) => entryId)).toEqual([report.entryId, ...report.keptEntryIds]);
  expect((await jsonOf<SessionReport>(["show", copy])).version).toBe(3);
}
