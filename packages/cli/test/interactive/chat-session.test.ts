import { history } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { answer, bash, opened, result, stored, timestamp } from "./chat-setup.ts";

describe("a session is shown", () => {
  test("with messages, calls and outputs, folded", () => {
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
         The model does not see this.
         a
         b
         Exit code 2.

       Done

       The answer stopped early."
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
      details: {
        prose: "## Goal\n\nA green build",
        readFiles: ["a.ts"],
        modifiedFiles: ["b.ts"],
      },
    });
    session.append({ type: "branch_summary", summary: "Tried **yarn**", fromId: kept.id });
    session.append({ type: "branch_summary", summary: "Took **pnpm**", fromId: kept.id, isMerge: true });
    chat.rebuild(session);
    expect(text()).toMatchInlineSnapshot(`
      "
       Go on

       [compaction] Compacted from 123,456 tokens (Ctrl-O)

       [branch summary] of another branch (Ctrl-O)

       [branch summary] of a merged branch (Ctrl-O)"
    `);
    chat.toggleExpanded();
    expect(text()).toMatchInlineSnapshot(`
      "
       Go on

       [compaction] Compacted from 123,456 tokens
       Ctrl-S: sources of each line

       Goal

       A green build

       Files read
         a.ts

       Files modified
         b.ts

       [branch summary] of another branch
       Ctrl-S: sources of each line

       Tried yarn

       [branch summary] of a merged branch
       Ctrl-S: sources of each line

       Took pnpm"
    `);
  });

  test("with masked results marked, which open as they are stored", () => {
    const { session } = history('U A(t1) T1"the output" A M(t1)');
    const { chat, text } = opened(session);
    chat.rebuild(session);
    expect(text()).toContain("masked: the model does not see this output (Ctrl-O)");
    expect(text()).not.toContain("the output");
    chat.toggleExpanded();
    expect(text()).toContain("the output");
  });

  test("with masked outputs of the user's commands marked in the same way", () => {
    const { session } = history('U A | B"the output" A');
    const command = session.path()[2]!;
    session.append({
      type: "context_edit",
      targetId: command.id,
      replacement: { content: [{ type: "text", text: "[Old tool result content cleared]" }] },
    });
    const { chat, text } = opened(session);
    chat.rebuild(session);
    expect(text()).toContain("masked: the model does not see this output (Ctrl-O)");
    expect(text()).not.toContain("the output");
    chat.toggleExpanded();
    expect(text()).toContain("masked: the model does not see this output");
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
         1  x
         2 -old
         2 +new"
    `);
  });

  test("with the calls of a sub-agent, folded under their number", () => {
    const { session, chat, text } = opened();
    const call = {
      type: "toolCall",
      id: "e",
      name: "task",
      arguments: { description: "Find the parser", prompt: "Where\nis it?" },
    } as const;
    const calls = [
      { text: "read src/a.ts:1-40", state: "done" },
      { text: "grep parse in src", state: "failed" },
      { text: 5, state: "done" },
    ];
    const details = { calls, callCount: 12 };
    session.append([stored(answer([call])), stored(result("e", "In b.ts", { toolName: "task", details }))]);
    chat.rebuild(session);
    expect(text()).toMatchInlineSnapshot(`
      "
       ● task Find the parser · prompt 2 lines
         … 12 calls (Ctrl-O)
         In b.ts"
    `);
    chat.toggleExpanded();
    expect(text()).toMatchInlineSnapshot(`
      "
       ● task Find the parser · prompt 2 lines
         … 10 earlier calls
         ● read src/a.ts:1-40
         ✗ grep parse in src
         In b.ts"
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
    expect(text(20)).toContain(" ● edit …/a-l… +1 -1");
  });

  test("with one line for each attached file, and their text when unfolded", () => {
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

  test("with the visible messages of extensions", () => {
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
    expect(text()).toContain("Earlier messages are not shown. Run /tree to see them.");
  });
});
