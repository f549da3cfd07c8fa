import { expect, test } from "vitest";
import { agentProject } from "../call/agent-project.ts";
import { header, writeLines } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";

/** Clears the screen, names the window, takes another screen, colours by a C1 control, turns the writing about. */
const evil = "\u001b[2J\u001b]0;mine\u0007\u001b[?1049h\u009b31m\u202eevil\u0000\u0007\r\ttab\u2028";
const steers = ["\u001b]0;mine", "\u001b[?1049h", "\u009b", "\u202e", "\u0000"];

function entry(id: number, fields: object): object {
  const parentId = id === 1 ? null : `0000000${id - 1}`;
  return { id: `0000000${id}`, parentId, timestamp: header.timestamp, ...fields };
}

const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const answer = {
  role: "assistant",
  content: [
    { type: "thinking", thinking: evil },
    { type: "text", text: `${evil}\n\`\`\`ts\n${evil}\n\`\`\`\n| ${evil} | b |\n|---|---|` },
    { type: "toolCall", id: evil, name: evil, arguments: { command: evil, [evil]: evil } },
  ],
  ...{ api: "x", provider: evil, model: evil, stopReason: "toolUse", timestamp: 0 },
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost },
};
const result = {
  ...{ role: "toolResult", toolCallId: evil, toolName: evil, isError: true, timestamp: 0 },
  content: [{ type: "text", text: evil }],
};

test("a session that wants to steer the terminal is shown everywhere, and steers nothing", async () => {
  const file = writeLines([
    { ...header, cwd: evil },
    entry(1, { type: "message", message: { role: "user", content: evil, timestamp: 0 } }),
    entry(2, { type: "message", message: answer }),
    entry(3, { type: "message", message: result }),
    entry(4, { type: "label", targetId: "00000001", label: evil }),
    entry(5, { type: "session_info", name: evil }),
    entry(6, { type: "thinking_level_change", thinkingLevel: evil }),
    entry(7, { type: "branch_summary", fromId: "00000001", summary: evil }),
    entry(8, { type: "custom_message", customType: evil, content: evil, display: true }),
    entry(9, { type: "message", message: { role: "user", content: `${evil} last`, timestamp: 0 } }),
  ]);
  const project = agentProject({ contextWindow: 50_000, turn: [{ text: "Fine." }], atEnd: "repeat" });
  const { terminal } = openInteractive({ project, argv: ["--session", file], rows: 50, columns: 100 });
  await terminal.until("scripted");
  terminal.press("ctrl+o");
  for (const command of ["/session", "/context", "/tree", "/fork", "/resume", "/compact preview"]) {
    terminal.type(command);
    await terminal.until((screen) => screen.includes(command));
    terminal.press("esc");
    await terminal.settle();
    terminal.press("enter");
    await terminal.until((screen) => !screen.includes(`\n${command}\n`));
    terminal.press("esc");
    await terminal.until((screen) => screen.match(/^─{100}$/gm)?.length === 2);
  }
  terminal.type("And now?\n");
  await terminal.until("Fine.");
  const written = terminal.written.join("");
  for (const harm of steers) expect(written.split(harm)).toHaveLength(1);
});

test("a control character that comes as a key is neither typed nor drawn", async () => {
  const { terminal } = openInteractive();
  await terminal.until("scripted");
  terminal.type("a\u009b31mb");
  await terminal.until("a31mb");
  expect(terminal.written.join("")).not.toContain("\u009b");
});

test("the name of a file steers nothing, and is no completion", async () => {
  const files = {
    "plain-name": "",
    "plain-\u001b]0;mine\u0007name": "",
    "plain-\nname": "",
    "plain-\u202ename": "",
  };
  const { terminal } = openInteractive({ files });
  await terminal.until("scripted");
  terminal.type("see @plain");
  await terminal.until("plain-name");
  terminal.press("esc", "ctrl+u");
  terminal.type("see ./plain");
  terminal.press("tab");
  await terminal.until(/plain-name/);
  expect(terminal.screen()).toContain("plain-\\u{202e}name");
  expect(terminal.screen()).not.toMatch(/mine|^name/m);
  expect(terminal.written.join("")).not.toContain("\u001b]0;mine");
});
