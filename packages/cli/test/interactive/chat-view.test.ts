// biome-ignore-all lint/suspicious/noControlCharactersInRegex: they are what is looked for
import type { AssistantMessage } from "@bonsai-agent/messages";
import { history } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { answer, bash, opened, result, stored, timestamp } from "./chat-setup.ts";

describe("the chat follows the agent", () => {
  test("streams an answer, and removes it before a retry", async () => {
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

  test("shows the time of a call that takes a second or more", async () => {
    let nowMs = 1_000;
    const { lifecycle, text, session, chat } = opened(undefined, () => nowMs);
    chat.rebuild(session);
    const message = answer([bash("c1", "make")]);
    const call = { toolCallId: "c1", toolName: "bash", args: {} };
    await lifecycle.notify("message_start", { type: "message_start", message });
    await lifecycle.notify("message_stored", { type: "message_stored", message, entryId: "a" });
    await lifecycle.notify("tool_execution_start", { type: "tool_execution_start", ...call });
    nowMs += 999;
    expect(text()).toBe("\n ◌ bash make");
    nowMs += 64_001;
    expect(text()).toBe("\n ◌ bash make 1 min 5 s");
    expect(text(16)).toBe("\n ◌ ba… 1 min 5 s");
    const end = { type: "tool_execution_end" as const, ...call, isError: false };
    await lifecycle.notify("tool_execution_end", { ...end, result: { content: [] } });
    nowMs += 10_000;
    expect(text()).toBe("\n ● bash make 1 min 5 s");
    const ended = result("c1", "", { toolName: "bash", durationMs: 3_999 });
    session.append([stored(message), stored(ended)]);
    chat.rebuild(session);
    expect(text()).toBe("\n ● bash make 3 s");
  });

  test("shows a call while it runs, writes and ends", async () => {
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

  test("shows the stored message instead of the streamed one", async () => {
    const { lifecycle, text } = opened();
    const message = { role: "user", content: "typed", timestamp } as const;
    await lifecycle.notify("message_start", { type: "message_start", message });
    const changed = { ...message, content: "changed" };
    await lifecycle.notify("message_stored", { type: "message_stored", message: changed, entryId: "u" });
    expect(text()).toBe("\n changed");
  });
});

test("indents the wrapped lines of a notice", () => {
  const { chat, text } = opened();
  chat.line({ text: "✗ The server did not answer [gone]\n  Start it, or name another one.", look: "error" });
  expect(text(24)).toBe("\n ✗ The server did not\n   answer [gone]\n   Start it, or name\n   another one.");
});

test("shows a tool's error in up to three rows", () => {
  const { session, chat, text } = opened();
  const why = "There is no nope.txt. Did you mean note.txt? Or one of the many others?";
  session.append([stored(answer([bash("c", "x")])), stored(result("c", why, { isError: true }))]);
  chat.rebuild(session);
  expect(text(30)).toBe(
    "\n ✗ bash x\n   There is no nope.txt. Did\n   you mean note.txt? Or one\n   of the many others?",
  );
});

test("a coloured line keeps only its colours", () => {
  const { chat, screen } = opened();
  chat.line({ text: "\x1b[31mred\x1b[39m \x1b[2Jcleared" });
  expect(screen.chat.render(40).join("")).toContain("\x1b[31mred\x1b[39m ␛[2Jcleared");
});

test("notices after the last message survive a rebuild, but not another session", () => {
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

test("unchanged blocks are not drawn again", () => {
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

test("code is coloured once the library is loaded", async () => {
  const { session, chat, screen } = opened(undefined, undefined, makeTheme("dark"));
  session.append(stored(answer([{ type: "text", text: "```ts\nconst a = 1;\n```" }])));
  chat.rebuild(session);
  const { promise, resolve } = Promise.withResolvers<void>();
  screen.redraw = resolve;
  expect(screen.chat.render(40).join("\n")).toContain("  const a = 1;");
  await promise;
  expect(screen.chat.render(40).join("\n")).toMatch(/\x1b\[[\d;]+mconst\x1b/);
});
