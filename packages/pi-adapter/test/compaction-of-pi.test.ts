import { afterEach, expect, test, vi } from "vitest";
import { piPayloads } from "../src/events.ts";
import { closeSessions, notified, openPiSession } from "./open-pi-session.ts";

afterEach(closeSessions);

const usage = {
  input: 1,
  output: 1,
  cacheRead: 0,
  cacheWrite: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
const user = (content: string) => ({ role: "user" as const, content, timestamp: 1 });
const answer = (content: object[]) =>
  ({
    role: "assistant",
    content,
    api: "scripted",
    provider: "scripted",
    model: "test",
    usage,
    stopReason: "stop",
    timestamp: 2,
  }) as never;
const call = (id: string, name: string, args: object) => ({ type: "toolCall", id, name, arguments: args });
const result = (toolCallId: string, toolName: string) =>
  ({ role: "toolResult", toolCallId, toolName, content: [], isError: false, timestamp: 3 }) as never;
const long = "The parser is slow because it copies every token. ".repeat(400);

const history = [
  user(`Why is the parser slow? ${long}`),
  answer([
    call("1", "read", { path: "src/parser.ts" }),
    call("2", "edit", { path: "src/token.ts", oldText: "a", newText: "b" }),
    call("3", "write", { path: "notes.md", content: "n" }),
  ]),
  result("1", "read"),
  result("2", "edit"),
  result("3", "write"),
  answer([{ type: "text", text: `It copies. ${long}` }]),
  user("And now?"),
  answer([{ type: "text", text: "Now it does not." }]),
];
const options = {
  ui: {},
  history,
  otherModels: [{ id: "cheap" }],
  settings: { compaction: { keepRecentTokens: 500 } },
} as const;

const compactionOf = (session: Awaited<ReturnType<typeof openPiSession>>) =>
  session.session.entries().find(({ type }) => type === "compaction");

test("an extension that was not written for pi gets the files of a compaction as Bonsai has them", async () => {
  const seen: unknown[] = [];
  const session = await openPiSession([], {
    ...options,
    extensions: (bonsai) =>
      void bonsai.on("session_before_compact", ({ preparation }) => void seen.push(preparation.fileOps)),
  });
  await session.agent.compact();
  expect(seen).toEqual([{ read: ["src/parser.ts"], modified: ["src/token.ts", "notes.md"] }]);
});

test("a summary made through ctx.modelRegistry.complete takes the place of the default one", async () => {
  const session = await openPiSession("summary-by-registry", { ...options, replies: ["Own summary."] });
  expect(await session.agent.compact()).toMatchObject({ status: "compacted" });
  expect(compactionOf(session)).toMatchObject({
    summary: expect.stringContaining("Own summary."),
    details: { read: ["src/parser.ts"], modified: ["notes.md", "src/token.ts"] },
  });
  const [request, ...more] = session.requests;
  expect(more).toEqual([]);
  expect(request).toMatchObject({ model: { id: "cheap" }, maxOutputTokens: 1024 });
  expect(JSON.stringify(request?.messages)).toContain("src/token.ts");
  expect(session.notices).toEqual([]);
});

test("a summary made through complete of pi-ai takes the place of the default one", async () => {
  const session = await openPiSession("summary-by-pi-ai", { ...options, replies: ["Older summary."] });
  expect(await session.agent.compact()).toMatchObject({ status: "compacted" });
  expect(compactionOf(session)).toMatchObject({
    summary: expect.stringContaining("Older summary."),
    details: { by: "cheap" },
  });
  expect(session.requests).toMatchObject([{ systemPrompt: "You summarise.", maxOutputTokens: 2048 }]);
  expect(session.notices).toEqual([]);
});

test("a failed request is an answer that says so", async () => {
  const session = await openPiSession("summary-by-pi-ai", {
    ...options,
    replies: [{ error: { status: 400, message: "no" } }],
  });
  expect(await session.agent.compact()).toMatchObject({ status: "cancelled" });
  expect(compactionOf(session)).toBeUndefined();
});

test("ctx.compact ends with pi's fields", async () => {
  const session = await openPiSession("trigger-compact", options);
  await session.command("/trigger-compact the parser");
  await vi.waitFor(() => expect(notified(session)).toEqual(["compacted true true"]));
  await session.command("/trigger-compact");
  await vi.waitFor(() => expect(notified(session)[1]).toMatch(/^failed: /));
});

test("an event in pi's shape reads the path when a handler asks for it, and not before", () => {
  let reads = 0;
  const preparation = {
    messagesToSummarize: [],
    turnPrefixMessages: [],
    fileOps: { read: [], modified: [] },
  };
  const event = {
    ...{ type: "session_before_compact", preparation, reason: "manual", willRetry: false },
    get branchEntries() {
      reads += 1;
      return [];
    },
  };
  const shaped = piPayloads.session_before_compact(event as never) as typeof event;
  expect(shaped.reason).toBe("manual");
  expect(Object.keys(shaped)).toContain("branchEntries");
  expect(reads).toBe(0);
  expect(shaped.branchEntries).toEqual([]);
  expect(reads).toBe(1);
});
