import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { textWidth } from "../src/views/terminal-text.ts";
import { runCli } from "./run-cli.ts";

test("the demonstration's lines are wrapped to the terminal's width", async () => {
  const { stdout } = await runCli(["demo", "--fast"], { columns: 80 });
  const [, session] = /^ {2}session {2}(\/\S+)/m.exec(stdout)!;
  onTestFinished(() => rmSync(dirname(session!), { recursive: true }));
  const wide = stdout.split("\n").filter((line) => textWidth(line) > 80 && !line.includes("session.jsonl"));
  expect(wide).toEqual([]);
  expect(stdout).toMatch(
    /^ {4}The model summarised the first \d+ messages of the current turn; 3 are kept( word)?$/m,
  );
  expect(stdout).not.toContain("Compaction failed");
  // Each of the parallel calls has its result below it.
  for (const day of ["wednesday", "thursday", "friday"])
    expect(stdout).toMatch(new RegExp(`▸ read logs/${day}\\.log\n +${day} 08:00`));
});
