import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { openSession } from "@bonsai-agent/session";
import { afterAll, expect, test } from "vitest";
import { textWidth } from "../src/views/terminal-text.ts";
import { runCli } from "./run-cli.ts";

interface Told {
  sessionFile: string;
  projectFolder: string;
  requests: { purpose: string; inputTokens: number; refused: boolean }[];
  moments: { at: number; moment: string }[];
  costUsd: number;
}

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

test("the demonstration shows all its moments, and its project's tests pass", async () => {
  const { stdout, code } = await runCli(["demo", "--json"]);
  expect(code).toBe(0);
  const told = JSON.parse(stdout) as Told;
  folders.push(dirname(told.sessionFile));
  expect(told.moments.map(({ moment }) => moment)).toEqual([
    "overflow",
    "summarised",
    "masked",
    "masked",
    "tree",
  ]);
  const refused = told.requests.filter((request) => request.refused);
  expect(refused).toHaveLength(1);
  expect(told.costUsd).toBeGreaterThan(0);

  const session = openSession(told.sessionFile);
  expect(openSession(told.sessionFile).problems()).toEqual([]);
  const splits = session.entries().flatMap((entry) => {
    if (entry.type !== "compaction") return [];
    const { manifest } = entry.details as { manifest: { splitTurn: boolean; rung: string; reason: string } };
    return [`${manifest.reason} ${manifest.rung}${manifest.splitTurn ? " split" : ""}`];
  });
  expect(splits).toEqual(["overflow summarise split"]);
  expect(session.entries().filter((entry) => entry.type === "branch_summary")).toHaveLength(1);
  session.close();

  const tests = spawnSync(process.execPath, ["--test"], {
    cwd: told.projectFolder,
    env: { PATH: process.env.PATH },
  });
  expect(tests.status).toBe(0);
});

test("an interrupted demonstration names its folder and leaves a sound session", async () => {
  const stop = new AbortController();
  const { code, stderr } = await runCli(["demo"], {
    signal: stop.signal,
    onOutput: (text) => {
      if (text.includes("The tests fail")) stop.abort();
    },
  });
  expect(code).toBe(130);
  const folder = /are in (\S+)\.$/m.exec(stderr)![1]!;
  folders.push(folder);
  expect(openSession(join(folder, "session.jsonl")).problems()).toEqual([]);
});

test("the demonstration's lines are wrapped to the terminal's width", async () => {
  const { stdout } = await runCli(["demo", "--fast"], { columns: 80 });
  const [, session] = /^ {2}session {2}(\/\S+)/m.exec(stdout)!;
  folders.push(dirname(session!));
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
