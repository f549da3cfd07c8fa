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
    "remote: error: push declined by the user policy of this server\n1\n2\n3\n4\n5\n6",
    "Enumerating objects: 5\nmain -> main",
  ])((output) => {
    const { failing } = outcomesAfter(emptyRecord.outcomes, ran("git push origin main", output, 1));
    expect(failing.map(({ isRefused = false }) => isRefused)).toEqual([false]);
  }));

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
