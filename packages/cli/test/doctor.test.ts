import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DamageName, damagedSessions, damageFindings, everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { ProblemRow } from "../src/commands/session-read.ts";
import { sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

const damaged = damagedSessions();

const names = Object.keys(damageFindings) as DamageName[];

describe("a damaged file", () => {
  function damagedFile(name: DamageName): string {
    const file = join(testFolder(), "damaged.jsonl");
    writeFileSync(file, damaged[name]);
    return file;
  }

  test("is diagnosed", () =>
    everyRow(names)(async (name) => {
      const file = damagedFile(name);
      const { code, stdout, stderr } = await runCli(["doctor", file, "--json"]);
      const expected = damageFindings[name];
      if (typeof expected === "string") {
        expect([code, stdout]).toEqual([1, ""]);
        expect(JSON.parse(stderr).error.code).toBe(expected);
        return;
      }
      expect(code).toBe(0);
      for (const line of stderr.split("\n").filter(Boolean)) {
        expect(JSON.parse(line)).toEqual({
          notice: { code: expect.any(String), message: expect.any(String) },
        });
      }
      const rows = JSON.parse(stdout) as ProblemRow[];
      expect(rows.map((row) => row.kind)).toEqual(expected);
      for (const row of rows) {
        expect(Object.keys(row).filter((key) => key !== "entryId")).toEqual([
          "line",
          "kind",
          "message",
          "repair",
        ]);
      }
      expect((await runCli(["doctor", file], { columns: 60 })).code).toBe(0);
    }));

  test("is never changed by looking, and no command trips over it", () =>
    everyRow(names)(async (name) => {
      const file = damagedFile(name);
      const looks = [
        ["show"],
        ["context"],
        ["tree"],
        ["tree", "--all"],
        ["export"],
        ["compact", "--dry-run"],
      ];
      for (const [command, ...flags] of looks) {
        const { stderr } = await runCli([command!, file, ...flags], { columns: 60 });
        expect(stderr).not.toContain("unexpected_error");
      }
      expect(readFileSync(file).equals(damaged[name])).toBe(true);
    }));

  test("is repaired in a copy, or refused", () =>
    everyRow(names)(async (name) => {
      const file = damagedFile(name);
      const copy = join(testFolder(), "mended.jsonl");
      const { code } = await runCli(["doctor", file, "--repair", "-o", copy]);
      expect(code).toBe(typeof damageFindings[name] === "string" ? 1 : 0);
      if (code !== 0) return;
      const left = await jsonOf<ProblemRow[]>(["doctor", copy]);
      expect(left.filter((row) => !KEPT_PROBLEMS.has(row.kind))).toEqual([]);
      expect(readFileSync(file).equals(damaged[name])).toBe(true);
    }));
});

/** A copy keeps these entries, because nothing can replace the missing ones. */
const KEPT_PROBLEMS = new Set(["missing_message", "missing_summary", "missing_kept_entry"]);

test("every damage of the testkit has its finding", () => {
  expect(Object.keys(damageFindings)).toEqual(Object.keys(damaged));
});

describe("bonsai session doctor", () => {
  test("finds nothing in a sound file", async () => {
    const file = writeLines(sampleLines());
    expect(await jsonOf(["doctor", file])).toEqual([]);
    expect((await runCli(["doctor", file])).stdout).toContain("has no damage");
  });

  test("--repair without -o writes a second file only if there is damage", async () => {
    const file = writeLines([...sampleLines(), { no: "entry" }]);
    const { code, stdout, stderr } = await runCli(["doctor", file, "--repair", "--json"]);
    const copy = file.replace(".jsonl", ".repaired.jsonl");
    expect([code, existsSync(copy)]).toEqual([0, true]);
    expect(JSON.parse(stdout)).toHaveLength(1);
    expect(JSON.parse(stderr)).toEqual({ notice: { code: "repaired_copy", message: copy } });
    const sound = writeLines(sampleLines());
    await runCli(["doctor", sound, "--repair"]);
    expect(existsSync(sound.replace(".jsonl", ".repaired.jsonl"))).toBe(false);
  });

  test("-o without --repair is wrong usage; an existing file is never overwritten", async () => {
    const file = writeLines(sampleLines());
    expect((await runCli(["doctor", file, "-o", "x.jsonl"])).code).toBe(2);
    expect((await runCli(["doctor", file, "--repair", "-o", file])).stderr).toContain("[output_exists]");
  });

  test("tells a human line, kind, finding and repair", async () => {
    const file = writeLines([...sampleLines(), { no: "entry" }]);
    const { stdout } = await runCli(["doctor", file], { columns: 60 });
    await expect(stdout.replace(file, "FILE")).toMatchFileSnapshot("golden/doctor-60.txt");
  });
});
