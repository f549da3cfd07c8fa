import type { Message } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { commandRuns } from "../../src/record/outcomes.ts";

const call = (id: string, fields: Record<string, unknown>) =>
  ({
    role: "assistant",
    content: [{ type: "toolCall", id, name: "bash", arguments: fields }],
  }) as unknown as Message;
const result = (toolCallId: string, text: string, isError = false) =>
  ({
    role: "toolResult",
    toolCallId,
    toolName: "bash",
    isError,
    content: [{ type: "text", text }],
  }) as unknown as Message;

test("reads the state of a command run from its command and output", () =>
  everyRow([
    ["npm test", "3 passed", false, { state: "passed", isLookup: false }],
    [
      "npm test",
      "FAIL a.test.ts\nError: expected 1\n[Exit code 1.]",
      true,
      { state: "failed", isLookup: false },
    ],
    ["npm test | tail -3", "2 failed, 1 passed", false, { state: "failed" }],
    ["ls src", "a.ts", false, { state: "passed", isLookup: true }],
    ["sleep 9", "Command aborted", true, { state: "aborted" }],
  ])(([command, text, isError, expected]) => {
    const messages = [call("1", { command }), result("1", text, isError)].map((message, at) => ({
      message,
      entryId: `e${at}`,
    }));
    expect(commandRuns(messages)).toEqual([expect.objectContaining({ command, entryId: "e1", ...expected })]);
  }));

test("a change of folder in front is where the command ran", () => {
  const messages = [call("1", { command: "cd packages/tui && npm test" }), result("1", "3 passed")];
  const [run] = commandRuns(messages.map((message) => ({ message })));
  expect(run).toMatchObject({ command: "npm test", folder: "packages/tui", state: "passed" });
});

test("calls that run no command and calls without a result are left out; a user's command stays", () => {
  const ran = {
    role: "bashExecution",
    command: "make",
    output: "",
    exitCode: 2,
    cancelled: false,
  } as unknown as Message;
  const messages = [call("1", { command: "make" }), call("2", { path: "a.ts" }), result("2", "text"), ran];
  expect(commandRuns(messages.map((message) => ({ message })))).toMatchObject([
    { command: "make", state: "failed" },
  ]);
});
