import type { Message } from "@bonsai-agent/messages";
import { expect, test } from "vitest";
import { changedFiles } from "../src/listing/changed-files.ts";
import { edit, used } from "./changed-messages.ts";

const PATCH =
  "*** Begin Patch\n*** Update File: a.ts\n@@\n-x\n+y\n+z\n*** Add File: b.ts\n+hi\n*** End Patch";

const DIFF = "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-x\n+y\n--- a/old.ts\n+++ /dev/null\n-x\n";

test.each<[string, Message[], [path: string, added: number, removed: number][]]>([
  ["what a tool counted", edit("a.ts", 3, 2), [["a.ts", 3, 2]]],
  ["a path in the call alone", used("edit", { path: "a.ts" }, { added: 3, removed: 2 }), [["a.ts", 3, 2]]],
  [
    "several changes of a file",
    [...edit("a.ts", 3, 2), ...edit("b.ts"), ...edit("a.ts", 1, 1)],
    [
      ["b.ts", 1, 1],
      ["a.ts", 4, 3],
    ],
  ],
  [
    "a file by all its names",
    [...edit("/project/src/a.ts"), ...edit("./src/a.ts"), ...edit("src/a.ts")],
    [["src/a.ts", 3, 3]],
  ],
  ["a file outside the project", edit("/etc/hosts"), [["/etc/hosts", 1, 1]]],
  [
    "no write that changed nothing",
    used("write", { path: "a.ts" }, { path: "a.ts", created: false, added: 0, removed: 0 }),
    [],
  ],
  [
    "but an empty new file",
    used("write", { path: "a.ts" }, { path: "a.ts", created: true, added: 0, removed: 0 }),
    [["a.ts", 0, 0]],
  ],
  ["no failed call", used("edit", { path: "a.ts" }, { added: 3, removed: 2 }, { isError: true }), []],
  [
    "what a sub-agent changed",
    used("task", {}, { changedFiles: [{ path: "a.ts", added: 2, removed: 0 }] }),
    [["a.ts", 2, 0]],
  ],
  [
    "also where it failed",
    used("task", {}, { changedFiles: [{ path: "a.ts", added: 2, removed: 0 }] }, { isError: true }),
    [["a.ts", 2, 0]],
  ],
  [
    "damaged details",
    used("task", {}, { changedFiles: [null, { path: 1 }, { path: "a.ts", added: -1, removed: 0 }] }),
    [],
  ],
  [
    "another program's edit",
    used("Edit", { file_path: "a.ts", old_string: "a\nb\nc", new_string: "a\nx\ny\nc" }),
    [["a.ts", 2, 1]],
  ],
  [
    "several in one call",
    used("edit", {
      path: "a.ts",
      edits: [
        { oldText: "a", newText: "b" },
        { oldText: "c", newText: "d\ne" },
      ],
    }),
    [["a.ts", 3, 2]],
  ],
  ["a deletion", used("edit", { path: "a.ts", oldText: "a\nb\n", newText: "" }), [["a.ts", 0, 2]]],
  ["another program's write", used("Write", { file_path: "a.ts", content: "a\nb\n" }), [["a.ts", 2, 0]]],
  [
    "a patch",
    used("apply_patch", { input: PATCH }),
    [
      ["a.ts", 2, 1],
      ["b.ts", 1, 0],
    ],
  ],
  [
    "a patch as a command",
    used("shell", { command: ["apply_patch", PATCH] }),
    [
      ["a.ts", 2, 1],
      ["b.ts", 1, 0],
    ],
  ],
  [
    "a unified diff, with a deletion",
    used("patch", { diff: DIFF }),
    [
      ["src/a.ts", 1, 1],
      ["old.ts", 0, 1],
    ],
  ],
  [
    "no reading, searching or running",
    [
      ...used("read", { path: "a.ts" }),
      ...used("bash", { command: "echo x > a.ts" }),
      ...used("grep", { pattern: "x", path: "." }),
    ],
    [],
  ],
  ["no call without a result", used("edit", { path: "a.ts", oldText: "a", newText: "b" }).slice(0, 1), []],
  ["arguments that make no sense", used("edit", { path: 7, edits: "x", oldText: null }), []],
])("changed files: %s", (_, messages, expected) => {
  expect(changedFiles(messages, "/project")).toEqual(
    expected.map(([path, added, removed]) => ({ path, added, removed })),
  );
});
