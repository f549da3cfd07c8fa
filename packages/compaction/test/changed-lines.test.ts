import type { Message } from "@bonsai-agent/messages";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { FileOperationCounter } from "../src/host.ts";

/** A call with its result. */
function used(name: string, args: object, details?: unknown, isError = false): Message[] {
  const items = history("A(t1=read:a.ts) T1")
    .session.projection()
    .items.map(({ message }) => message);
  const [answer, result] = items as [Message, Message];
  const call = { type: "toolCall", id: "t1", name, arguments: args };
  return [
    { ...answer, content: [call] },
    { ...result, toolName: name, details, isError },
  ] as Message[];
}

const edit = (path: string, added = 1, removed = 1) => used("edit", { path }, { path, added, removed });

const PATCH =
  "*** Begin Patch\n*** Update File: a.ts\n@@\n-x\n+y\n+z\n*** Add File: b.ts\n+hi\n*** End Patch";

const DIFF = "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-x\n+y\n--- a/old.ts\n+++ /dev/null\n-x\n";

test("counts the changed lines of a tool call, whatever form the tool reports them in", () =>
  everyRow<[string, Message[], string]>([
    ["a tool counts its lines", edit("a.ts", 3, 2), "a.ts +3 -2"],
    ["a path in the call alone", used("edit", { path: "a.ts" }, { added: 3, removed: 2 }), "a.ts +3 -2"],
    [
      "several changes of a file",
      [...edit("a.ts", 3, 2), ...edit("b.ts"), ...edit("a.ts", 1, 1)],
      "b.ts +1 -1, a.ts +4 -3",
    ],
    [
      "a file by all its names",
      [...edit("/project/src/a.ts"), ...edit("./src/a.ts"), ...edit("src/a.ts")],
      "src/a.ts +3 -3",
    ],
    ["a file outside the project", edit("/etc/hosts"), "/etc/hosts +1 -1"],
    [
      "a write that changed nothing does not count",
      used("write", { path: "a.ts" }, { path: "a.ts", created: false, added: 0, removed: 0 }),
      "",
    ],
    [
      "an empty new file counts",
      used("write", { path: "a.ts" }, { path: "a.ts", created: true, added: 0, removed: 0 }),
      "a.ts +0 -0",
    ],
    ["a failed call does not count", used("edit", { path: "a.ts" }, { added: 3, removed: 2 }, true), ""],
    [
      "a sub-agent lists its changes",
      used("task", {}, { changedFiles: [{ path: "a.ts", added: 2, removed: 0 }] }),
      "a.ts +2 -0",
    ],
    [
      "a failed sub-agent changed files too",
      used("task", {}, { changedFiles: [{ path: "a.ts", added: 2, removed: 0 }] }, true),
      "a.ts +2 -0",
    ],
    [
      "damaged details",
      used("task", {}, { changedFiles: [null, { path: 1 }, { path: "a.ts", added: -1, removed: 0 }] }),
      "",
    ],
    [
      "another program's edit",
      used("Edit", { file_path: "a.ts", old_string: "a\nb\nc", new_string: "a\nx\ny\nc" }),
      "a.ts +2 -1",
    ],
    [
      "a call has several edits",
      used("edit", {
        path: "a.ts",
        edits: [
          { oldText: "a", newText: "b" },
          { oldText: "c", newText: "d\ne" },
        ],
      }),
      "a.ts +3 -2",
    ],
    ["a deletion", used("edit", { path: "a.ts", oldText: "a\nb\n", newText: "" }), "a.ts +0 -2"],
    ["another program's write", used("Write", { file_path: "a.ts", content: "a\nb\n" }), "a.ts +2 -0"],
    ["a patch", used("apply_patch", { input: PATCH }), "a.ts +2 -1, b.ts +1 -0"],
    ["a patch as a command", used("shell", { command: ["apply_patch", PATCH] }), "a.ts +2 -1, b.ts +1 -0"],
    ["a unified diff, with a deletion", used("patch", { diff: DIFF }), "src/a.ts +1 -1, old.ts +0 -1"],
    [
      "reading, searching and running do not count",
      [
        ...used("read", { path: "a.ts" }),
        ...used("bash", { command: "echo x > a.ts" }),
        ...used("grep", { pattern: "x", path: "." }),
      ],
      "",
    ],
    [
      "a call without a result does not count",
      used("edit", { path: "a.ts", oldText: "a", newText: "b" }).slice(0, 1),
      "",
    ],
    ["arguments that make no sense", used("edit", { path: 7, edits: "x", oldText: null }), ""],
    [
      "edits of several files in one call",
      used("multi", {
        edits: [
          { path: "a.ts", oldText: "a", newText: "b" },
          { path: "b.ts", oldText: "c", newText: "d\ne" },
        ],
      }),
      "a.ts +1 -1, b.ts +2 -1",
    ],
    [
      "a removed line of a patch that looks like a head",
      used("apply_patch", {
        input: "*** Begin Patch\n*** Update File: a.sql\n@@\n--- note\n+select 1\n*** End Patch",
      }),
      "a.sql +1 -1",
    ],
    [
      "a moved file counts under its new name",
      used("apply_patch", {
        input: "*** Begin Patch\n*** Update File: a.ts\n*** Move to: b.ts\n+x\n*** End Patch",
      }),
      "b.ts +1 -0",
    ],
  ])(([, messages, expected]) => {
    const lines = new FileOperationCounter(messages).changedLines("/project");
    expect(lines.map(({ path, added, removed }) => `${path} +${added} -${removed}`).join(", ")).toBe(
      expected,
    );
  }));
