import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { emptyRecord } from "../../src/details.ts";
import { outcomeLine, outcomesAfter } from "../../src/record/outcomes.ts";
import { ran, toolRun } from "./run-messages.ts";

const PUSH = "git push --force origin main";

function refused(output: string, isError = true) {
  return toolRun("bash", { command: PUSH }, { output, isError, entryId: "r1" });
}

test("reports a refused command, for the wording of each agent", () =>
  everyRow([
    "Blocked: The user refused this command (git push --force: rewrites history). Do not work around this.",
    "This command was refused by the user.",
    'The user denied this command: "not before Monday"',
    "The user doesn't want to proceed with this tool use. The tool use was rejected.",
    "exec command rejected by user",
    "<stdout>\nThe user denied this command\n</stdout>\n<exit_code>0</exit_code>",
  ])((output) => {
    const { failing, irreversible } = outcomesAfter(emptyRecord.outcomes, refused(output));
    expect(irreversible).toEqual([]);
    expect(failing.map((outcome) => outcomeLine(outcome))).toEqual([`- The user refused: \`${PUSH}\``]);
  }));

test("an output that only mentions a refusal is no refusal", () =>
  everyRow([
    "order 17 rejected by user",
    "3 passed\nuser input rejected",
    "user bob declined review of #12; merged",
    "request declined by the user is retried",
    "[main 3f2a1bc] handle input rejected by user",
  ])((output) => {
    const { failing, irreversible } = outcomesAfter(emptyRecord.outcomes, ran(PUSH, output));
    expect(failing).toEqual([]);
    expect(irreversible.map(({ command }) => command)).toEqual([PUSH]);
  }));

test("a command that ran and failed is not refused, whatever it prints", () => {
  const output = "user 'root' denied DROP command to user";
  const { failing } = outcomesAfter(emptyRecord.outcomes, ran("make migrate", output, 1));
  expect(failing.map(({ key, isRefused = false }) => [key, isRefused])).toEqual([["make migrate", false]]);
});

test("stops reporting a refused command once it runs", () => {
  const messages = [...refused("This command was refused by the user."), ...ran(PUSH, "main -> main")];
  const { failing, irreversible } = outcomesAfter(emptyRecord.outcomes, messages);
  expect(failing).toEqual([]);
  expect(irreversible.map(({ command }) => command)).toEqual([PUSH]);
});

test("failing code on the command line is a trial; a failing script is a failing command", () => {
  const keys = (command: string) =>
    outcomesAfter(emptyRecord.outcomes, ran(command, "TypeError: x is not a function", 1)).failing.map(
      ({ key }) => key,
    );
  expect(keys('node -e "x()"')).toEqual([]);
  expect(keys("python3 -c 'import x'")).toEqual([]);
  expect(keys("node scripts/load.js")).toEqual(["node scripts/load.js"]);
  expect(keys("bash -c 'npm test'")).toEqual(["bash -c 'npm test'"]);
});
