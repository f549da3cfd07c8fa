import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestSession } from "@bonsai-agent/extension/testing";
import { beforeAll, expect, test } from "vitest";
import { asked, openGated } from "./gated-session.ts";

let session: TestSession;

beforeAll(async () => {
  session = await openGated({}, "file");
  mkdirSync(join(session.cwd, "src"));
  for (const file of ["src/a.ts", "run.sh"]) writeFileSync(join(session.cwd, file), "");
});

/** The lines of each claim in `lines.txt`. */
const claims = readFileSync(new URL("lines.txt", import.meta.url), "utf8")
  .split(/^## /m)
  .slice(1)
  .map((part) => {
    const [claim = "", ...lines] = part.trim().split("\n");
    return { claim, lines: lines.map((line) => line.replaceAll("⏎", "\n")) };
  });

test.each(claims)("$claim", async ({ claim, lines }) => {
  const answers = await Promise.all(lines.map(async (line) => [line, await asked(line, {}, session)]));
  const wrong = claim.startsWith("runs ")
    ? answers.filter(([, answer]) => answer !== undefined)
    : answers.filter(([, answer]) => answer?.includes("No user is present to allow this command") !== true);
  expect(lines.length).toBeGreaterThan(0);
  expect(wrong).toEqual([]);
});

test("asks before unusual characters and quotes without an end, and runs an empty line", async () => {
  const lines = ["ls\u00a0x", "ls \u0007", "ls\r\nrm x", `ls "\${x`, "ls 'x", ""];
  const answers = await Promise.all(lines.map((line) => asked(line, {}, session)));
  expect(answers.map((answer) => answer !== undefined)).toEqual([true, true, true, true, true, false]);
});

test("names the reason", async () => {
  const reasons = {
    "rm a": "(rm a: it is not on the list of read-only programs)",
    "ls > a": "(ls > a: it writes a)",
    "cd /": "(cd /: it leaves the project, or may leave it)",
    "echo $x": "(echo $x: the gate cannot read it surely: it uses $x)",
    "echo $(ls)": "(echo $(ls): the gate cannot read it surely: it uses a substitution)",
    "cat <<E\nE": "(cat <<E\nE: the gate cannot read it surely: it uses <<)",
    "echo '": "(echo ': the gate cannot read it surely: its quotes do not match)",
  };
  const answers = Object.keys(reasons).map(async (line) => {
    const answer = (await asked(line, {}, session)) ?? "";
    return [line, /\(.*\)(?=\. Do not)/s.exec(answer)?.[0]];
  });
  expect(Object.fromEntries(await Promise.all(answers))).toEqual(reasons);
});
