import { type AssistantMessage, emptyUsage, type Message, type ToolCall } from "@bonsai-agent/messages";
import { FRAMES } from "@bonsai-agent/messages/host";
import { createSession, messageParts } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { callIn, callInTree, callsOf, fitPreview, previewOf, previewText } from "../../src/views/preview.ts";

test("a summary's preview puts each heading before its text", () => {
  const session = createSession({ cwd: "/project" });
  const summary = `${FRAMES.branchRecord.begin}\n\n## Goal\n\nMake the totals right.\n\n### Done\n- issue #7\n\n## Next Steps:\n1. Rest.`;
  const entry = session.append({ type: "branch_summary", summary, fromId: "root" });
  expect(previewOf(entry)).toBe("Goal: Make the totals right. Done: - issue #7 Next Steps: 1. Rest.");
});

const call = {
  type: "toolCall",
  id: "t1",
  name: "read",
  arguments: { path: "packages/interactive/src/chat/tool-block.ts", offset: 10, limit: 31 },
} as const;

const result = {
  role: "toolResult",
  toolCallId: "t1",
  toolName: "read",
  content: [{ type: "text", text: "export class ToolBlock {\n  draw() {}" }],
  isError: false,
  timestamp: 0,
} satisfies Message;

test("a result's preview names its call, or its tool if the call is unknown", () => {
  const text = (known?: ToolCall) => previewText(messageParts(result, known));
  expect(text(call)).toBe(
    "read packages/interactive/src/chat/tool-block.ts:10-40: export class ToolBlock { draw() {}",
  );
  expect(text()).toBe("read: export class ToolBlock { draw() {}");
});

test("a long command's result shows the command's start and its output", () => {
  const bash = { ...call, name: "bash", arguments: { command: `cd /a && ${"npm test ".repeat(20)}` } };
  expect(previewText(messageParts(result, bash))).toBe(
    "bash cd /a && npm test npm…: export class ToolBlock { draw() {}",
  );
});

test("a message's preview names its files without their text", () => {
  const text = 'Compare @a.ts\n\n<file path="a.ts">\nlet all;\n</file>';
  const image = { type: "image", data: "", mimeType: "image/png" } as const;
  const message = { role: "user", content: [{ type: "text", text }, image], timestamp: 0 } as const;
  expect(previewText(messageParts({ ...message, content: [...message.content] }))).toBe(
    "Compare @a.ts [image]",
  );
});

test("finds the call of a result among other calls", () => {
  const session = createSession({ cwd: "/project" });
  const answer = answerWith([{ ...call, id: "t0", name: "ls", arguments: {} }, call]);
  session.append({ type: "message", message: answer });
  session.append({ type: "message", message: { ...result, toolCallId: "t0", toolName: "ls" } });
  const entry = session.append({ type: "message", message: result });
  expect(callIn(session, entry)?.name).toBe("read");
  const tree = session.tree();
  expect(callInTree(tree, 2, entry)?.name).toBe("read");
  expect(callsOf([answer, result])).toEqual([undefined, call]);
});

test("a path keeps its end at every width", () =>
  everyRow([
    [200, "read packages/interactive/src/chat/tool-block.ts:10-40: export class ToolBlock { draw() {}"],
    [60, "read packages/interactive/src/chat/tool-block.ts:10-40: exp…"],
    [53, "read …/interactive/src/chat/tool-block.ts:10-40: exp…"],
    [40, "read …/src/chat/tool-block.ts:10-40: ex…"],
    [28, "read …/tool-block.ts:10-40:…"],
    [12, "read …/tool…"],
    [1, "…"],
  ])(([columns, expected]) => {
    expect(fitPreview(messageParts(result, call), columns)).toBe(expected);
  }));

test("each of several paths keeps its end", () => {
  const second = { ...call, arguments: { path: "packages/interactive/src/chat/chat-view.ts" } };
  const line = fitPreview(messageParts(answerWith([call, second])), 54);
  expect(line).toBe("read …/chat/tool-block.ts:10-40; read …/chat-view.ts");
});

function answerWith(content: ToolCall[]): AssistantMessage {
  return {
    role: "assistant",
    content,
    api: "scripted",
    provider: "stage",
    model: "actor",
    usage: emptyUsage(),
    stopReason: "toolUse",
    timestamp: 0,
  };
}
