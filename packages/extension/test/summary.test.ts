import { emptyUsage, type Message } from "@bonsai-agent/messages";
import { FRAMES, framed } from "@bonsai-agent/messages/host";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import {
  convertToLlm,
  digestSummariser,
  type ExtensionAPI,
  serializeConversation,
  summariseEntries,
  summarisePreparation,
} from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";

const timestamp = 7;
const messages: Message[] = [
  { role: "user", content: "Mend the door.", timestamp },
  {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "Secretly." },
      { type: "text", text: "I look." },
      { type: "toolCall", id: "c1", name: "read", arguments: { path: "door.ts" } },
    ],
    api: "x",
    provider: "x",
    model: "x",
    usage: emptyUsage(),
    stopReason: "toolUse",
    timestamp,
  },
  {
    role: "toolResult",
    toolCallId: "c1",
    toolName: "read",
    content: [{ type: "text", text: "wood" }],
    isError: false,
    timestamp,
  },
  {
    role: "bashExecution",
    command: "ls",
    output: "door.ts",
    exitCode: 0,
    cancelled: false,
    truncated: false,
    timestamp,
  },
  {
    role: "bashExecution",
    command: "secret",
    output: "",
    cancelled: false,
    truncated: false,
    excludeFromContext: true,
    timestamp,
  },
  { role: "custom", customType: "note", content: "Mind the cat.", display: true, timestamp },
  { role: "branchSummary", summary: "A window was tried.", fromId: null, timestamp },
  { role: "compactionSummary", summary: "Long ago.", tokensBefore: 9, timestamp },
  { role: "system", content: "x" },
];

test("convertToLlm keeps plain messages, makes the others the user's and drops hidden ones", () => {
  const converted = convertToLlm(messages);
  expect(converted.slice(0, 3)).toEqual(messages.slice(0, 3));
  const said = (...texts: string[]) => ({
    role: "user",
    content: texts.map((text) => ({ type: "text", text })),
    timestamp,
  });
  expect(converted.slice(3)).toEqual([
    said("[The user ran a command:]\n\n$ ls\ndoor.ts\n\n[End of the command's output.]"),
    said("[Message added by note:]", "Mind the cat.", "[End of the message added by note.]"),
    said(framed(FRAMES.branchRecord, "A window was tried.")),
    said(framed(FRAMES.record, "Long ago.")),
  ]);
});

test("serializeConversation writes roles, without thinking, with shortened results", () => {
  expect(serializeConversation(messages)).toBe(
    [
      "[User]: Mend the door.",
      '[Assistant]: I look.\n\n[Assistant tool calls]: read(path="door.ts")',
      "[Tool result read]: wood",
      "[User command]: ls\ndoor.ts",
      "[Extension note]: Mind the cat.",
      "[Branch summary]: A window was tried.",
      "[Earlier summary]: Long ago.",
    ].join("\n\n"),
  );
  const long = convertToLlm(messages).map((message) =>
    message.role === "toolResult"
      ? { ...message, content: [{ type: "text" as const, text: "x".repeat(9_000) }] }
      : message,
  );
  expect(serializeConversation(long).length).toBeLessThan(3_500);
  expect(serializeConversation([])).toBe("");
});

const past = history("U:15000 A(t1=edit:a.ts):15000 T1:9 A:9 | U:100 A:100")
  .session.entries()
  .flatMap((entry) => (entry.type === "message" ? [entry.message] : []));

async function compacted(extension?: (bonsai: ExtensionAPI) => void) {
  const session = await openTestSession({
    history: past,
    settings: { compaction: { keepRecentTokens: 200 } },
    otherModels: [{ id: "cheap" }],
    ...(extension === undefined ? {} : { extensions: extension }),
  });
  const outcome = await session.agent.compact();
  const { details, summary = "" } = session.session.projection().compaction ?? {};
  // The ids of entries are random.
  const places = new Map(session.session.entries().map(({ id }, at) => [id, `entry ${at}`]));
  const named = summary.replaceAll(/\b[\da-f]{8}\b/g, (id) => places.get(id) ?? id);
  const asked = session.requests.map(({ model }) => model.id);
  await session.close();
  return { outcome, details, summary: named, asked, notices: session.notices };
}

test("a few lines let a cheaper model write the same summary", async () => {
  const usual = await compacted();
  const own = await compacted((bonsai) => {
    bonsai.on("session_before_compact", async ({ preparation, signal }, ctx) => {
      const cheap = ctx.modelRegistry.find("scripted", "cheap");
      return summarisePreparation({ preparation, summariser: ctx.summariserFor(cheap!), signal });
    });
  });
  expect(usual.asked).toEqual(["test"]);
  expect(own.asked).toEqual(["cheap"]);
  expect(own.notices).toEqual([]);
  expect(own.outcome.status).toBe("compacted");
  expect(own.summary).toBe(usual.summary);
  expect(own.summary).toContain("<user-words>\n");
  expect(own.details).toMatchObject({ modifiedFiles: ["a.ts"], manifest: { rung: "extension" } });
});

test("a few lines let the digest summarise without a model, also an abandoned branch", async () => {
  const own = await compacted((bonsai) => {
    bonsai.on("session_before_compact", ({ preparation }) =>
      summarisePreparation({ preparation, summariser: digestSummariser() }),
    );
  });
  expect(own).toMatchObject({ asked: [], notices: [], outcome: { status: "compacted" } });
  const session = await openTestSession({
    history: past,
    extensions(bonsai) {
      bonsai.on("session_before_tree", async ({ preparation }) => ({
        summary: await summariseEntries({
          entries: preparation.entriesToSummarize,
          summariser: digestSummariser(),
        }),
      }));
    },
  });
  const [first] = session.session
    .path()
    .filter(({ type }) => type === "message")
    .slice(1);
  const moved = await session.agent.navigate(first!.id, { summarise: true });
  expect(moved.summaryEntry).toMatchObject({
    fromHook: true,
    summary: expect.stringContaining("## Latest statement"),
  });
  expect(session.requests).toEqual([]);
  await session.close();
});
