import type { Message } from "@bonsai-agent/messages";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { compactionSettings, fileOperations, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

let ids = 0;

/** A call with its result. */
function called(
  name: string,
  args: Record<string, unknown>,
  { isError = false, text = "", details = {} } = {},
) {
  ids += 1;
  const id = `c${ids}`;
  return [
    {
      role: "assistant",
      content: [{ type: "toolCall", id, name, arguments: args }],
      stopReason: "toolUse",
      timestamp: 1,
    },
    {
      role: "toolResult",
      toolCallId: id,
      toolName: name,
      content: [{ type: "text", text }],
      details,
      isError,
      timestamp: 1,
    },
  ] as unknown as Message[];
}

const write = (path: string) => called("write", { path, content: "x" });
const read = (path: string) => called("read", { path });
const bash = (command: string, result?: { isError?: boolean; text?: string }) =>
  called("bash", { command }, result);

test("follows renames and drops deleted files", () =>
  everyRow<[string, Message[], string[], string[]]>([
    ["mv", [...write("a.ts"), ...bash("mv a.ts b.ts")], [], ["b.ts"]],
    [
      "git mv in a chain",
      [...write("src/a.ts"), ...bash("git mv -f src/a.ts lib/b.ts && npm test")],
      [],
      ["lib/b.ts"],
    ],
    [
      "mv into a folder",
      [...write("a.ts"), ...read("lib/c.ts"), ...bash("mv a.ts lib")],
      ["lib/c.ts"],
      ["lib/a.ts"],
    ],
    [
      "mv of several files",
      [...write("a.ts"), ...write("b.ts"), ...bash("mv a.ts b.ts lib/")],
      [],
      ["lib/b.ts", "lib/a.ts"],
    ],
    [
      "mv of a folder",
      [...read("old/a.ts"), ...write("old/x/b.ts"), ...bash("mv old new")],
      ["new/a.ts"],
      ["new/x/b.ts"],
    ],
    ["mv after cd", [...write("pkg/a.ts"), ...bash("cd pkg && mv ./a.ts b.ts")], [], ["pkg/b.ts"]],
    [
      "mv of an absolute path",
      [...write("/home/p/src/a.ts"), ...bash("mv src/a.ts src/b.ts")],
      [],
      ["/home/p/src/b.ts"],
    ],
    ["mv of an unknown file", bash("mv notes.txt docs.md"), [], ["docs.md"]],
    ["two renames", [...write("a.ts"), ...bash("mv a.ts b.ts; mv b.ts c.ts")], [], ["c.ts"]],
    [
      "a file written elsewhere and moved",
      bash("jq . a.json > tmp.json && mv tmp.json a.json"),
      [],
      ["a.json"],
    ],
    ["rm", [...write("a.ts"), ...read("b.ts"), ...bash("rm -f a.ts b.ts")], [], []],
    [
      "git rm in a script",
      [...write("a.ts"), ...bash("set -e\ngit rm --quiet a.ts\ngit commit -m x")],
      [],
      [],
    ],
    [
      "rm of a folder",
      [...write("old/a.ts"), ...read("older/b.ts"), ...bash("rm -rf old/")],
      ["older/b.ts"],
      [],
    ],
    ["a write after rm", [...write("a.ts"), ...bash("rm a.ts"), ...write("a.ts")], [], ["a.ts"]],
    ["a failed rm", [...write("a.ts"), ...bash("rm a.ts", { isError: true })], [], ["a.ts"]],
    [
      "mv before a failed test",
      [...write("a.ts"), ...bash("mv a.ts b.ts && npm test", { isError: true, text: "FAIL" })],
      [],
      ["b.ts"],
    ],
    [
      "a failed mv in a chain",
      [
        ...write("a.ts"),
        ...bash("mv a.ts b.ts && npm test", { isError: true, text: "mv: cannot stat 'a.ts'" }),
      ],
      [],
      ["a.ts"],
    ],
    [
      "names that only a shell knows",
      [...write("a.ts"), ...bash('rm *.ts; mv "$A" b.ts; rm $(ls)')],
      [],
      ["a.ts"],
    ],
    ["a tool that deletes", [...write("a.ts"), ...called("delete_file", { path: "a.ts" })], [], []],
    [
      "a tool that moves",
      [...write("a.ts"), ...called("move_file", { source: "a.ts", destination: "b.ts" })],
      [],
      ["b.ts"],
    ],
    [
      "a patch that deletes and moves",
      [
        ...write("a.ts"),
        ...write("b.ts"),
        ...called("apply_patch", {
          input:
            "*** Begin Patch\n*** Delete File: a.ts\n*** Update File: b.ts\n*** Move to: c.ts\n@@\n-x\n+y\n*** End Patch",
        }),
      ],
      [],
      ["c.ts"],
    ],
    [
      "a diff that deletes",
      [...write("a.ts"), ...called("patch", { patch: "--- a/a.ts\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" })],
      [],
      [],
    ],
    [
      "a sub-agent that wrote and deleted",
      [
        ...write("a.ts"),
        ...called("task", { prompt: "p" }, { details: { modifiedFiles: ["b.ts"], removedFiles: ["a.ts"] } }),
      ],
      [],
      ["b.ts"],
    ],
  ])(([, messages, readFiles, modified]) => {
    expect(fileOperations(messages)).toEqual({ read: readFiles, modified });
  }));

test("a user's own commands count", () => {
  const command = { role: "bashExecution", command: "mv a.ts b.ts", output: "", exitCode: 0, timestamp: 1 };
  expect(fileOperations([...write("a.ts"), command as Message]).modified).toEqual(["b.ts"]);
});

test("renames and deletions apply to the files of earlier compactions", async () => {
  const { session } = history("U:400");
  const settings = compactionSettings({ keepRecentTokens: 100 }, { estimator: "chars4" });
  const compact = (messages: readonly Message[]) => {
    for (const message of messages) session.append({ type: "message", message: message as never });
    history("A:4000 | U:100 A:100", session);
    return runCompaction({ session, settings, summariser: scriptedSummariser() });
  };
  await compact([...write("a.ts"), ...write("b.ts"), ...read("c.ts"), ...write("d/e.ts")]);
  const { readFiles, modifiedFiles, summary } = await compact(
    bash("mv a.ts new.ts; rm c.ts; rm -r d; rm b.ts; touch b.ts"),
  );
  expect([readFiles, modifiedFiles]).toEqual([[], ["new.ts"]]);
  expect(summary).toMatch(/<modified-files>\nnew\.ts\n<\/modified-files>/);
});
