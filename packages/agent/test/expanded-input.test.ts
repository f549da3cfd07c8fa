import { BonsaiError, contentText, type UserMessage } from "@bonsai-agent/messages";
import { expect, test } from "vitest";
import type { ExpandInput } from "../src/run/queue.ts";
import { filler, type ScriptedAgentOptions, scriptedAgent, summary } from "./scripted-agent.ts";

/** Makes `Do: ARGS` of `/do ARGS`, and fails at `/fail`. */
const expandInput: ExpandInput = async ({ text }) => {
  if (text.startsWith("/fail"))
    throw new BonsaiError({ code: "skill_unreadable", message: "It cannot be read.", hint: "Mend it." });
  const [, args] = /^\/do (.*)$/.exec(text) ?? [];
  return args === undefined ? undefined : { text: `Do what the template says: ${args}`, typed: text };
};

const open = (options: Partial<ScriptedAgentOptions> = {}) =>
  scriptedAgent({ turn: () => ({ text: "Done." }), expandInput, ...options });

type Opened = ReturnType<typeof open>;

function userMessages({ session }: Opened): UserMessage[] {
  return session
    .entries()
    .flatMap((entry) => (entry.type === "message" && entry.message.role === "user" ? [entry.message] : []));
}

test("stores the typed text beside the expanded text, and sends the expanded text", async () => {
  const opened = open();
  await opened.agent.prompt("/do the dishes");
  await opened.agent.prompt("and /do nothing else");
  expect(userMessages(opened)).toMatchObject([
    { content: "Do what the template says: the dishes", typed: "/do the dishes" },
    { content: "and /do nothing else" },
  ]);
  expect(userMessages(opened)[1]).not.toHaveProperty("typed");
  const sent = JSON.stringify(
    opened.turns[0]?.messages.map((message) => "content" in message && message.content),
  );
  expect(sent).toContain("Do what the template says: the dishes");
  expect(sent).not.toContain("/do the");
});

test("handlers of input see the text as it was typed, and what they make of it is expanded", async () => {
  const opened = open();
  const seen: string[] = [];
  opened.lifecycle.on("input", ({ text }) => {
    seen.push(text);
    return text === "dishes" ? { action: "transform", text: "/do the dishes" } : undefined;
  });
  const prompts: string[] = [];
  opened.lifecycle.on("before_agent_start", ({ prompt }) => {
    prompts.push(prompt);
  });
  await opened.agent.prompt("/do it");
  await opened.agent.prompt("dishes");
  expect(seen).toEqual(["/do it", "dishes"]);
  expect(prompts).toEqual(["Do what the template says: it", "Do what the template says: the dishes"]);
});

test("a text of an extension is expanded only on request", async () => {
  const opened = open();
  await opened.agent.prompt("/do one", { source: "extension" });
  await opened.agent.prompt("/do two", { source: "extension", isExpanded: true });
  await opened.agent.prompt("/do three", { isExpanded: false });
  expect(userMessages(opened).map(({ content }) => contentText(content))).toEqual([
    "/do one",
    "Do what the template says: two",
    "/do three",
  ]);
});

test("a text that waits is expanded when its turn comes", async () => {
  const opened = open();
  opened.lifecycle.on("turn_start", ({ turnIndex }) => {
    if (turnIndex === 0 && userMessages(opened).length === 0)
      void opened.agent.prompt("/do more", { behavior: "followUp" });
  });
  await opened.agent.prompt("Begin.");
  expect(userMessages(opened)).toMatchObject([
    { content: "Begin." },
    { content: "Do what the template says: more", typed: "/do more" },
  ]);
});

test("a text that cannot be expanded returns to its sender, also after waiting", async () => {
  const opened = open();
  expect(await opened.agent.prompt("/fail now")).toMatchObject({
    status: "failed",
    error: { code: "skill_unreadable" },
    unsent: [{ text: "/fail now" }],
  });
  opened.lifecycle.on("turn_start", ({ turnIndex }) => {
    if (turnIndex === 0 && userMessages(opened).length === 0)
      void opened.agent.prompt("/fail later", { behavior: "followUp" });
  });
  expect(await opened.agent.prompt("Begin.")).toMatchObject({
    status: "failed",
    unsent: [{ text: "/fail later" }],
  });
  expect(userMessages(opened)).toMatchObject([{ content: "Begin." }]);
});

test("a text that cannot be stored returns as it was typed", async () => {
  const opened = open();
  opened.session.append = () => {
    throw new Error("The disk is full.");
  };
  const result = await opened.agent.prompt("/do it");
  expect(result).toMatchObject({ status: "failed", unsent: [{ text: "/do it" }] });
});

test("a compaction carries the line that was typed among the user's words, and both as the latest request", async () => {
  const opened = open({
    turn: (_call, count) => ({ text: `Answer ${count}. ${filler(3_000)}` }),
    summary: () => summary,
    settings: { compaction: { keepRecentTokens: 100, threshold: { reserveTokens: 2_000 } } },
  });
  await opened.agent.prompt("/do the dishes by hand, never in the machine");
  await opened.agent.prompt("/do the floor");
  await opened.agent.compact();
  const [compaction] = opened.session.entries().filter(({ type }) => type === "compaction");
  const text = (compaction as { summary: string }).summary;
  expect(text).toMatch(
    /<user-words>[\s\S]*\/do the dishes by hand, never in the machine[\s\S]*<\/user-words>/,
  );
  expect(text).not.toMatch(/<user-words>[\s\S]*Do what the template says: the dishes[\s\S]*<\/user-words>/);
  expect(text).toMatch(
    /<latest-request>\n.*\n\/do the floor\n\nDo what the template says: the floor\n<\/latest-request>/,
  );
});
