import type { Message } from "@bonsai-agent/messages";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { FileOperationCounter } from "../src/host.ts";
import { compactionSettings, fileOperations, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const call = (name: string, args: Record<string, unknown>): Message => ({
  role: "assistant",
  content: [{ type: "toolCall", id: "t1", name, arguments: args }],
  api: "scripted",
  provider: "scripted",
  model: "scripted",
  usage: {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  },
  stopReason: "toolUse",
  timestamp: 1,
});

const PATCH =
  "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-x\n+y\n*** Add File: b.md\n+hi\n*** Move to: c.md\n*** End Patch";
const DIFF = "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-x\n+y\n--- /dev/null\n+++ b/new.ts\n";

test("finds the read and changed files of a call, whatever its tool and keys are called", () =>
  everyRow<[string, string, Record<string, unknown>, string[], string[]]>([
    ["a path is read", "read", { path: "a.ts" }, ["a.ts"], []],
    ["whatever the tool and the key are called", "viewFile", { filePath: "a.ts", offset: 3 }, ["a.ts"], []],
    ["many files at once", "read_many", { paths: ["a.ts", "b.ts"] }, ["a.ts", "b.ts"], []],
    ["content makes a change", "store", { file_path: "a.ts", content: "x" }, [], ["a.ts"]],
    ["old and new text make a change", "tool", { path: "a.ts", oldText: "x", newText: "y" }, [], ["a.ts"]],
    [
      "edits with paths of their own",
      "multi",
      { edits: [{ path: "a.ts" }, { path: "b.ts" }] },
      [],
      ["a.ts", "b.ts"],
    ],
    ["a notebook", "NotebookEdit", { notebook_path: "n.ipynb", new_source: "1" }, [], ["n.ipynb"]],
    ["the name of a change is enough", "delete_file", { path: "a.ts" }, [], ["a.ts"]],
    ["a patch's own files", "apply_patch", { input: PATCH }, [], ["src/a.ts", "b.md", "c.md"]],
    [
      "a patch inside a command",
      "shell",
      { command: ["apply_patch", PATCH] },
      [],
      ["src/a.ts", "b.md", "c.md"],
    ],
    ["a unified diff", "patch", { patch: DIFF }, [], ["src/a.ts", "new.ts"]],
    ["a search reads no file", "grep", { pattern: "x", path: "src" }, [], []],
    ["a listing reads no file", "ls", { path: "." }, [], []],
    [
      "an obvious redirect",
      "bash",
      { command: "echo hi > out.txt && cat x >> log/all.txt 2>&1" },
      [],
      ["out.txt", "log/all.txt"],
    ],
    [
      "a here-document's head, not its body",
      "bash",
      { command: "cat > a.sh <<'EOF'\necho x > b.sh\nEOF" },
      [],
      ["a.sh"],
    ],
    [
      "no redirect in quotes, to a device or a variable",
      "bash",
      { command: "echo 'a > b' > /dev/null; x > $Y; a 2> err" },
      [],
      [],
    ],
    ["arguments that are no paths", "read", { path: 7, file: "two\nlines", paths: "x" }, [], []],
  ])(([, name, args, read, modified]) => {
    expect(fileOperations([call(name, args)])).toEqual({ read, modified });
  }));

test("a failed call touched nothing, and modified wins over read", () => {
  const { session } = history("U A(t1=edit:a.ts) T1! A(t2=read:a.ts t3=read:b.ts) T2 T3 A(t4=write:b.ts) T4");
  const messages = session.projection().items.map((item) => item.message);
  expect(fileOperations(messages)).toEqual({ read: ["a.ts"], modified: ["b.ts"] });
});

test("long lists show the files touched last and count the others", async () => {
  const calls = Array.from(
    { length: 150 },
    (_, index) => `A(t${index}=read:f${String(index).padStart(3, "0")}.ts) T${index}:50`,
  );
  const { session } = history(`U:9 ${calls.join(" ")} A:100 | U:50 A:50`);
  const settings = compactionSettings({ keepRecentTokens: 100 }, { estimator: "chars4" });
  const result = await runCompaction({ session, settings, summariser: scriptedSummariser() });
  const [, shown = ""] = /<read-files>\n([\s\S]*?)\n<\/read-files>/.exec(result.summary ?? "") ?? [];
  const lines = shown.split("\n");
  expect([lines[0], lines.at(-2), lines.at(-1)]).toEqual(["f110.ts", "f149.ts", "(and 110 older)"]);
  expect(result.readFiles).toHaveLength(150);
});

const subAgentResult = (details: unknown, isError = false): Message => ({
  role: "toolResult",
  toolCallId: "t1",
  toolName: "task",
  content: [{ type: "text", text: "done" }],
  details,
  isError,
  timestamp: 1,
});

test("finds the files that a sub-agent lists", () =>
  everyRow<[string, unknown, string[], string[]]>([
    ["both lists", { readFiles: ["a.ts", "b.ts"], modifiedFiles: ["c.ts"] }, ["a.ts", "b.ts"], ["c.ts"]],
    ["modified wins", { readFiles: ["a.ts", "b.ts"], modifiedFiles: ["a.ts"] }, ["b.ts"], ["a.ts"]],
    ["one list", { modifiedFiles: ["c.ts"] }, [], ["c.ts"]],
    ["damaged lists", { readFiles: [1, "a.ts", null], modifiedFiles: "c.ts" }, ["a.ts"], []],
    ["no details", undefined, [], []],
    ["details that are no object", "readFiles", [], []],
  ])(([, details, read, modified]) => {
    const task = call("task", { description: "look", prompt: "Look at it." });
    for (const isError of [false, true]) {
      const { read: readFiles, modified: modifiedFiles } = fileOperations([
        task,
        subAgentResult(details, isError),
      ]);
      expect({ read: readFiles.sort(), modified: modifiedFiles.sort() }).toEqual({ read, modified });
    }
  }));

test("a sub-agent's files are carried over two compactions, sorted, modified first", async () => {
  const { session } = history("U:400");
  const say = (message: Message) => session.append({ type: "message", message: message as never });
  const turn = (details: object) => {
    say(call("task", { description: "look", prompt: "Look at it." }));
    say(subAgentResult(details));
    history("A:400 | U:400", session);
  };
  const compact = () =>
    runCompaction({
      session,
      settings: compactionSettings({ keepRecentTokens: 100 }, { estimator: "chars4" }),
      summariser: scriptedSummariser(),
    });
  turn({ readFiles: ["z.ts", "b.ts"], modifiedFiles: ["m.ts"] });
  expect(await compact()).toMatchObject({ readFiles: ["b.ts", "z.ts"], modifiedFiles: ["m.ts"] });
  turn({ readFiles: ["a.ts", "m.ts"], modifiedFiles: ["b.ts"] });
  expect(await compact()).toMatchObject({ readFiles: ["a.ts", "z.ts"], modifiedFiles: ["b.ts", "m.ts"] });
});

test("knows created files by the call or its result", () =>
  everyRow<[string, string, Record<string, unknown>, unknown, string[]]>([
    ["a result that says so", "write", { path: "a.ts", content: "x" }, { created: true }, ["a.ts"]],
    ["a result that says that it was there", "write", { path: "a.ts", content: "x" }, { created: false }, []],
    ["a result that says nothing", "write", { path: "a.ts", content: "x" }, undefined, []],
    ["a patch that adds it", "apply_patch", { input: PATCH }, undefined, ["b.md"]],
    ["a unified diff against nothing", "patch", { patch: DIFF }, undefined, ["new.ts"]],
  ])(([, name, args, details, expected]) => {
    const createdAfter = (isError: boolean) => {
      const result = { toolCallId: "t1", toolName: name, content: [], isError, details, timestamp: 2 };
      return new FileOperationCounter([call(name, args), { role: "toolResult", ...result }]).created();
    };
    expect(createdAfter(false)).toEqual(expected);
    expect(createdAfter(true)).toEqual([]);
  }));

test("files of parallel calls keep the order of the calls, whichever call ends first", () => {
  const { session } = history(
    "A(t1=read:a.ts) A(t2=read:b.ts t3=read:c.ts t4=edit:d.ts) T3 T2 T1 A(t5=read:e.ts)",
  );
  const counter = new FileOperationCounter();
  for (const { message, entryId } of session.projection().items) counter.add(message, entryId);
  expect(counter.operations()).toEqual({ read: ["e.ts", "b.ts", "c.ts", "a.ts"], modified: ["d.ts"] });
  expect([...counter.entries().keys()]).toEqual(["e.ts", "b.ts", "c.ts", "a.ts", "d.ts"]);
});

test("the first result of a call decides whether it touched its files", () => {
  const { session } = history("A(t1=read:a.ts t2=read:b.ts) T1 T2! T1! T2");
  const messages = session.projection().items.map(({ message }) => message);
  expect(fileOperations(messages).read).toEqual(["a.ts"]);
});

test("finds the files of a shell command under any argument name", () =>
  everyRow(["command", "cmd", "script", "shell_command"])((field) => {
    const { modified } = fileOperations([
      call("shell", { [field]: "git mv a.ts lib/b.ts && echo x > c.txt" }),
    ]);
    expect(modified).toContain("c.txt");
  }));
