import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { CompactionReport } from "../src/views/compact-view.ts";
import { longSession, testFolder } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

function homeWith(settings: string): { BONSAI_HOME: string } {
  const home = testFolder();
  writeFileSync(join(home, "settings.json"), settings);
  return { BONSAI_HOME: home };
}

function keptCount(report: CompactionReport): number {
  return report.keptEntryIds.length;
}

describe("compaction settings", () => {
  test("come from the user's file; flags come before it", async () => {
    const argv = ["compact", longSession(), "--dry-run"];
    const env = homeWith('{"compaction": {"keepRecentTokens": 2000}}');
    const byFile = keptCount(await jsonOf(argv, { env }));
    const byDefault = keptCount(await jsonOf(argv));
    const byFlag = keptCount(await jsonOf([...argv, "--keep", "1k"], { env }));
    expect(byFile).toBeLessThan(byDefault);
    expect(byFlag).toBeLessThan(byFile);
  });

  test("--preset lays another policy below the file", async () => {
    const argv = ["compact", longSession(), "--dry-run", "--preset", "tunacode"];
    const report = await jsonOf<CompactionReport>(argv);
    // That policy keeps nothing by itself; results that the model has not seen stay with the answer that asked for them.
    expect([report.status, keptCount(report)]).toEqual(["planned", 2]);
  });

  test("--window scales the budgets down", async () => {
    const argv = ["compact", longSession(), "--dry-run"];
    const scaled = keptCount(await jsonOf([...argv, "--window", "10k"]));
    expect(scaled).toBeLessThan(keptCount(await jsonOf(argv)));
  });

  test("an invalid file is an error that names file, key, found and allowed", () =>
    everyRow([
      ['{"compaction": {"keepRecentTokens": "many"}}', "settings_invalid", ["keepRecentTokens", '"many"']],
      ['{"compaction": {"keepRecent": 1}}', "settings_invalid", ["keepRecent", "keepRecentTokens"]],
      ['{"compation": {}}', "settings_invalid", ["compation", "compaction"]],
      ['{"thinking": "hard"}', "settings_invalid", ["thinking", '"hard"', '"xhigh"']],
      ['{"compaction": []}', "settings_invalid", ["compaction", "[]", "object"]],
      ["[1]", "settings_invalid", ["settings are", "[1]", "object"]],
      ["{", "settings_unreadable", ["JSON"]],
    ])(async ([text, code, words]) => {
      const env = homeWith(text);
      const {
        code: exit,
        stderr,
        stdout,
      } = await runCli(["compact", longSession(), "--dry-run", "--json"], { env });
      expect([exit, stdout]).toEqual([1, ""]);
      const { error } = JSON.parse(stderr);
      expect(error.code).toBe(code);
      for (const word of [join(env.BONSAI_HOME, "settings.json"), ...words])
        expect(error.message).toContain(word);
    }));

  test("a wrong preset on the command line is named with its flag", async () => {
    const { stderr } = await runCli(["compact", longSession(), "--dry-run", "--preset", "mine", "--json"]);
    const { error } = JSON.parse(stderr);
    expect(error.code).toBe("wrong_usage");
    expect(error.message).toContain('"mine"');
    expect(error.hint).toBe("Correct --preset, or omit it.");
  });
});
