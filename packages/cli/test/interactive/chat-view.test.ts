// biome-ignore-all lint/suspicious/noControlCharactersInRegex: they are what is looked for
import type { AssistantMessage } from "@bonsai-agent/messages";
import { history } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { answer, bash, opened, result, stored, timestamp } from "./chat-room.ts";

describe("a session is shown", () => {
  test("with what was said, done and put out, folded", () => {
    const { session, chat, text } = opened();
    const lines = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`).join("\n");
    session.append([
      stored({ role: "user", content: "Run it", timestamp }),
      stored(
        answer([
          { type: "thinking", thinking: "First\nI think" },
          { type: "text", text: "I will **run** it." },
          bash("c1", "make all"),
          bash("c2", "false"),
        ]),
      ),
      stored(result("c1", lines)),
      stored(result("c2", "no such thing", { isError: true })),
      stored({
        role: "bashExecution",
        command: "ls",
        output: "a\nb",
        exitCode: 2,
        cancelled: false,
        truncated: false,
        excludeFromContext: true,
        timestamp,
      }),
      stored(answer([{ type: "text", text: "Done" }], { stopReason: "aborted" })),
    ]);
    chat.rebuild(session);
    expect(text()).toMatchInlineSnapshot(`
      "
       Run it

       Thinking… 2 lines

       I will run it.

       ● bash make all
         line 1
         line 2
         line 3
         … 12 more lines (Ctrl-O)
         line 16
         line 17
         line 18
         line 19
         line 20

       ✗ bash false
         no such thing

       $ ls
         not in the model's view
         a
         b
         Exit code 2.

       Done

       Stopped before its end."
    `);
    chat.toggleExpanded();
    expect(text()).toContain("   I think");
    expect(text()).toContain("line 10");
    chat.toggleExpanded();
    expect(text()).not.toContain("line 10");
  });

  test("with its compaction and branch summary folded, and open with their files", () => {
    const { session, chat, text } = opened();
    const kept = session.append(stored({ role: "user", content: "Go on", timestamp }));
    session.append({
      type: "compaction",
      summary: "[For the model.] ## Goal",
      firstKeptEntryId: kept.id,
      tokensBefore: 123_456,
      details: { prose: "## Goal\n\nA green build", readFiles: ["a.ts"], modifiedFiles: ["b.ts"] },
    });
    session.append({ type: "branch_summary", summary: "Tried **yarn**", fromId: kept.id });
    chat.rebuild(session);
    expect(text()).toMatchInlineSnapshot(`
      "
       Go on

       [compaction] Compacted from 123,456 tokens (Ctrl-O)

       [branch summary] Of the branch that was left (Ctrl-O)"
    `);
    chat.toggleExpanded();
    expect(text()).toMatchInlineSnapshot(`
      "
       Go on

       [compaction] Compacted from 123,456 tokens

       Goal

       A green build

       Files read
         a.ts

       Files modified
         b.ts

       [branch summary] Of the branch that was left

       Tried yarn"
    `);
  });

  test("with masked results marked, which open as they are stored", () => {
    const { session } = history('U A(t1) T1"the output" A M(t1)');
    const { chat, text } = opened(session);
    chat.rebuild(session);
    expect(text()).toContain("masked: not in the model's view (Ctrl-O)");
    expect(text()).not.toContain("the output");
    chat.toggleExpanded();
    expect(text()).toContain("the output");
  });

  test("with a difference and its counts", () => {
    const { session, chat, text } = opened();
    const call = { type: "toolCall", id: "e", name: "edit", arguments: { path: "src/a.ts" } } as const;
    const details = { path: "src/a.ts", diff: "@@ -1,2 +1,2 @@\n x\n-old\n+new", added: 1, removed: 1 };
    session.append([stored(answer([call])), stored(result("e", "Edited", { toolName: "edit", details }))]);
    chat.rebuild(session);
    expect(text()).toMatchInlineSnapshot(`
      "
       ● edit src/a.ts +1 -1
         @@ -1,2 +1,2 @@
          x
         -old
         +new"
    `);
  });

  test("with the counts of a difference also where there are few columns", () => {
    const { session, chat, text } = opened();
    const call = {
      type: "toolCall",
      id: "e",
      name: "edit",
      arguments: { path: "packages/src/a-long-name.ts" },
    } as const;
    const details = { path: "a", diff: "", added: 1, removed: 1 };
    session.append([stored(answer([call])), stored(result("e", "Edited", { toolName: "edit", details }))]);
    chat.rebuild(session);
    expect(text(20)).toContain(" ● edit packa… +1 -1");
  });

  test("with the files that went along in a line each, open with all of them", () => {
    const { session, chat, text } = opened();
    const file = (path: string, body: string) => `<file path="${path}">\n${body}\n</file>`;
    const typed = "Compare @a.ts and @b.ts";
    const content = [typed, file("a.ts", "one\n\ntwo"), file("b.ts", "three")].join("\n\n");
    session.append(stored({ role: "user", content, timestamp }));
    session.append(stored({ role: "user", content: `See\n\n${file("c.ts", "pasted")}`, timestamp }));
    chat.rebuild(session);
    expect(text()).toMatchInlineSnapshot(`
      "
       Compare @a.ts and @b.ts
       a.ts: 3 lines (Ctrl-O)
       b.ts: 1 line (Ctrl-O)

       See

       <file path="c.ts">
       pasted
       </file>"
    `);
    chat.toggleExpanded();
    expect(text()).toContain("two");
  });

  test("with messages of extensions that want to be seen", () => {
    const { session, chat, text } = opened();
    session.append([
      { type: "custom_message", customType: "todo", content: "- milk", display: true },
      { type: "custom_message", customType: "secret", content: "hidden", display: false },
    ]);
    chat.rebuild(session);
    expect(text()).toMatchInlineSnapshot(`
      "
       [todo]
       - milk"
    `);
  });

  test("by its latest messages, when there are many", () => {
    const { session } = history("U A ".repeat(300));
    const { chat, text } = opened(session);
    chat.rebuild(session);
    expect(text()).toContain("Earlier messages: /tree shows them");
  });
});

describe("what is being said is shown", () => {
  test("as it comes; a retry voids what came before", async () => {
    const { lifecycle, text } = opened();
    const message = answer([]);
    await lifecycle.notify("message_start", { type: "message_start", message });
    const update = (content: AssistantMessage["content"], event: object) => {
      message.content = content;
      return lifecycle.notify("message_update", {
        type: "message_update",
        message,
        assistantMessageEvent: { ...event, message } as never,
      });
    };
    await update([{ type: "text", text: "Half an ans" }, bash("c1", "l")], { type: "text" });
    expect(text()).toContain("Half an ans");
    expect(text()).toContain("○ bash l");
    await update([], { type: "start" });
    expect(text()).toBe("");
    await update([{ type: "text", text: "Whole" }], { type: "text" });
    const final = { ...message, stopReason: "error", errorMessage: "overloaded" };
    await lifecycle.notify("message_stored", { type: "message_stored", message: final, entryId: "x" });
    expect(text()).toBe("\n Whole\n\n Failed: overloaded");
  });

  test("a call runs, puts out, ends", async () => {
    const { lifecycle, text } = opened();
    const message = answer([bash("c1", "make")]);
    const call = { toolCallId: "c1", toolName: "bash" };
    await lifecycle.notify("message_start", { type: "message_start", message });
    await lifecycle.notify("message_stored", { type: "message_stored", message, entryId: "a" });
    await lifecycle.notify("tool_execution_start", { type: "tool_execution_start", ...call, args: {} });
    expect(text()).toBe("\n ◌ bash make");
    const output = (text: string) => ({ content: [{ type: "text" as const, text }] });
    await lifecycle.notify("tool_execution_update", {
      ...{ type: "tool_execution_update", ...call, args: {} },
      partialResult: output("compiling"),
    });
    expect(text()).toBe("\n ◌ bash make\n   compiling");
    await lifecycle.notify("tool_execution_end", {
      ...{ type: "tool_execution_end", ...call, isError: true },
      result: output("broken"),
    });
    expect(text()).toBe("\n ✗ bash make\n   broken");
  });

  test("what is stored counts, not what was begun with", async () => {
    const { lifecycle, text } = opened();
    const message = { role: "user", content: "typed", timestamp } as const;
    await lifecycle.notify("message_start", { type: "message_start", message });
    const changed = { ...message, content: "changed" };
    await lifecycle.notify("message_stored", { type: "message_stored", message: changed, entryId: "u" });
    expect(text()).toBe("\n changed");
  });
});

test("what is told goes on below its beginning where it is wrapped", () => {
  const { chat, text } = opened();
  chat.line({ text: "✗ The server did not answer [gone]\n  Start it, or name another one.", look: "error" });
  expect(text(24)).toBe("\n ✗ The server did not\n   answer [gone]\n   Start it, or name\n   another one.");
});

test("why a tool failed is told in up to three rows", () => {
  const { session, chat, text } = opened();
  const why = "There is no nope.txt. Did you mean note.txt? Or one of the many others?";
  session.append([stored(answer([bash("c", "x")])), stored(result("c", why, { isError: true }))]);
  chat.rebuild(session);
  expect(text(30)).toBe(
    "\n ✗ bash x\n   There is no nope.txt. Did\n   you mean note.txt? Or one\n   of the many others?",
  );
});

test("a told line keeps its colours and nothing else that steers a terminal", () => {
  const { chat, screen } = opened();
  chat.line({ text: "\x1b[31mred\x1b[39m \x1b[2Jcleared" });
  expect(screen.chat.render(40).join("")).toContain("\x1b[31mred\x1b[39m ␛[2Jcleared");
});

test("what was told since the last message stays when the chat is built anew; another session takes all its place", () => {
  const { session } = history("U A");
  const { chat, text } = opened(session);
  chat.line({ text: "while it was opened" });
  chat.rebuild(session);
  expect(text()).toMatch(/a1 text\n\n while it was opened$/);
  chat.rebuild(session);
  expect(text().match(/while it was opened/g)).toHaveLength(1);
  chat.rebuild(history("U").session);
  expect(text()).not.toContain("while it was opened");
});

test("what has not changed is not drawn again", () => {
  const { session } = history("U A(t1) T1 A");
  const { chat, screen } = opened(session);
  chat.rebuild(session);
  const before = screen.chat.children.map((child) => child.render(50));
  chat.line({ text: "more" });
  const after = screen.chat.children.map((child) => child.render(50));
  before.forEach((lines, at) => {
    expect(after[at]).toBe(lines);
  });
});

test("code has its colours once the library is there", async () => {
  const { session, chat, screen } = opened();
  screen.theme.use("dark");
  session.append(stored(answer([{ type: "text", text: "```ts\nconst a = 1;\n```" }])));
  chat.rebuild(session);
  const { promise, resolve } = Promise.withResolvers<void>();
  screen.redraw = resolve;
  expect(screen.chat.render(40).join("\n")).toContain("  const a = 1;");
  await promise;
  expect(screen.chat.render(40).join("\n")).toMatch(/\x1b\[[\d;]+mconst\x1b/);
});
