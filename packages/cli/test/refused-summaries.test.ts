import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { estimateTokens } from "@bonsai-agent/messages";
import { openSession } from "@bonsai-agent/session";
import { everyRow, type LoopbackReply, loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import type { GotoReport } from "../src/commands/session-edit.ts";
import type { CompactionReport } from "../src/views/compact-view.ts";
import { modelSummary } from "./call/model-summary.ts";
import { header, testFolder, writeLines } from "./call/sample-session.ts";
import { runCli } from "./run-cli.ts";

interface Server {
  /** What it really takes: the request and the answer that is asked for. */
  windowTokens: number;
  /** What it says when a request does not fit. Default: OpenAI's words, with its numbers. */
  refusal?: (inputTokens: number, windowTokens: number) => string;
  /** Answers a request by its number, from 0, in another way. */
  instead?: (index: number) => LoopbackReply | undefined;
  /** What its models.json says. */
  declaredTokens?: number | undefined;
  /** Who stands in for it. Default: as the settings have it by themselves. */
  fallback?: "never";
}

const told = (input: number, window: number) =>
  `This model's maximum context length is ${window} tokens. However, your messages resulted in ${input} tokens.`;
const wordless = () => "prompt is too long";

/** A server with a window of its own, and a home whose models.json declares 32k for it. */
async function boxServer({ windowTokens, refusal = told, instead, fallback, ...declared }: Server) {
  const { declaredTokens } = { declaredTokens: 32_768, ...declared };
  const refused: number[] = [];
  const taken: number[] = [];
  const server = await loopbackServer(({ path, body }, index) => {
    // The catalogue asks what the server knows of its models.
    if (path !== "/v1/chat/completions") return { status: 404 };
    const { messages, max_tokens = 0 } = body as { messages: { content: unknown }[]; max_tokens?: number };
    const input = messages.reduce((sum, { content }) => sum + estimateTokens(textOf(content)), 0);
    const other = instead?.(index);
    if (other !== undefined) return other;
    const fits = input + max_tokens <= windowTokens;
    (fits ? taken : refused).push(input);
    if (!fits) return refusedWith(refusal(input, windowTokens));
    return answer(modelSummary(`- Part ${taken.length}.`), input);
  });
  onTestFinished(() => server.close());
  const home = testFolder();
  const models = [{ id: "coder", ...(declaredTokens && { contextWindow: declaredTokens }) }];
  const box = { provider: "box", baseUrl: `${server.url}/v1`, api: "openai-chat", models };
  writeFileSync(join(home, "models.json"), JSON.stringify({ providers: [box] }));
  const settings = { compaction: { summarizer: { fallback } } };
  writeFileSync(join(home, "settings.json"), JSON.stringify(settings));
  const run = (argv: readonly string[], signal?: AbortSignal) =>
    runCli([...argv, "--model", "box/coder"], { env: { BONSAI_HOME: home }, ...(signal && { signal }) });
  return { server, refused, taken, run };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return (content as { text?: string }[]).map(({ text = "" }) => text).join("");
}

function refusedWith(message: string, status = 400): LoopbackReply {
  const chunks = [JSON.stringify({ error: { message, type: "invalid_request_error" } })];
  return { status, headers: { "content-type": "application/json" }, chunks };
}

function answer(content: string, prompt_tokens: number): LoopbackReply {
  const chunk = (delta: object, finish_reason: string | null) => ({
    data: { id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] },
  });
  const usage = { prompt_tokens, completion_tokens: 100, total_tokens: prompt_tokens + 100 };
  const events = [
    chunk({ role: "assistant", content }, null),
    chunk({}, "stop"),
    { data: { id: "1", object: "chat.completion.chunk", choices: [], usage } },
    { data: "[DONE]" },
  ];
  return { headers: { "content-type": "text/event-stream" }, chunks: sseChunks(events) };
}

/** The entry at a place of a session of user messages and answers, of so many words. */
function message(at: number, words: number) {
  const text = `Part ${at}. ${"some words ".repeat(words / 2)}`;
  const id = (place: number) => `aaaa${String(place).padStart(4, "0")}`;
  const said =
    at % 2 === 0
      ? { role: "user", content: text }
      : { role: "assistant", content: [{ type: "text", text }], stopReason: "stop" };
  return {
    type: "message",
    id: id(at),
    parentId: at === 0 ? null : id(at - 1),
    timestamp: "2026-11-20T09:00:00.000Z",
    message: { ...said, timestamp: at },
  };
}

const talk = (words: readonly number[]) =>
  writeLines([header, ...words.map((count, at) => message(at, count))]);

/** About 50,000 tokens, and a last question that is kept. */
const long = () => talk([...Array(16).fill(3_000), 20]);

const report = (stdout: string) => JSON.parse(stdout) as CompactionReport;

describe("bonsai compact with a server whose window is smaller than declared", () => {
  test("each refusal of a size leads to a summary in parts that fit", () =>
    everyRow<[string, Server]>([
      ["15k, told in numbers", { windowTokens: 15_000 }],
      ["15k, without numbers", { windowTokens: 15_000, refusal: wordless }],
      [
        "15k, told as one that is larger than declared",
        { windowTokens: 15_000, refusal: (n) => told(n, 64_000) },
      ],
      [
        "15k, told as one that is smaller than it is",
        { windowTokens: 15_000, refusal: (n) => told(n, 9_000) },
      ],
      ["15k, told as one in which nothing fits", { windowTokens: 15_000, refusal: (n) => told(n, 1_024) }],
      ["4k, told in numbers", { windowTokens: 4_096 }],
      ["4k, without numbers", { windowTokens: 4_096, refusal: wordless }],
      [
        "15k, where nothing was declared",
        { windowTokens: 15_000, refusal: wordless, declaredTokens: undefined },
      ],
    ])(async ([_, options]) => {
      const { refused, taken, run } = await boxServer(options);
      const file = long();
      const { code, stdout, stderr } = await run(["compact", file, "--keep", "10", "--json"]);
      expect([code, stderr.includes("error")]).toEqual([0, false]);
      expect(report(stdout)).toMatchObject({ status: "compacted", rung: "chunks" });
      expect(report(stdout).summary).toContain(`- Part `);
      expect(taken.length).toBeGreaterThan(1);
      expect(refused.length).toBeGreaterThan(0);
      expect(refused.length).toBeLessThan(12);
      expect(report(stdout).requests).toBe(taken.length + refused.length);
      expect(openSession(file).projection().compaction).toBeDefined();
    }));

  test("a refusal in the middle halves that part and keeps the earlier summaries", async () => {
    const instead = (index: number) => (index === 3 ? refusedWith(wordless()) : undefined);
    const { server, taken, run } = await boxServer({ windowTokens: 15_000, refusal: wordless, instead });
    const { code, stdout } = await run(["compact", long(), "--keep", "10", "--json"]);
    expect([code, report(stdout).rung]).toEqual([0, "chunks"]);
    const [before, after] = [3, 4].map((index) => JSON.stringify(server.requests[index]?.body));
    expect(after!.length).toBeLessThan(before!.length * 0.75);
    // Both go on from the summary that stood before the refusal.
    const earlier = /- Part \d+\./.exec(before!)?.[0];
    expect(after).toContain(earlier);
    expect(taken.length).toBeGreaterThan(2);
  });

  test("a message that is larger than a request by itself", async () => {
    const { run } = await boxServer({ windowTokens: 4_096, refusal: wordless });
    const file = talk([20, 20, 30_000, 20, 20, 20]);
    const { code, stdout } = await run(["compact", file, "--keep", "10", "--json"]);
    expect([code, report(stdout).status]).toEqual([0, "compacted"]);
  });

  test("both spans of a split turn", async () => {
    const { run } = await boxServer({ windowTokens: 8_192 });
    const file = talk([...Array(8).fill(4_000), ...Array(2).fill(9_000)]);
    const { code, stdout } = await run(["compact", file, "--keep", "100", "--json"]);
    expect([code, report(stdout).splitTurn, report(stdout).rung]).toEqual([0, true, "chunks"]);
    expect(report(stdout).summary).toContain("**Turn Context (split turn):**");
  });

  test("a summary that a model with a larger window wrote is read in parts too", async () => {
    const { server, run } = await boxServer({ windowTokens: 4_096 });
    const summary = `## Goal\nFirst of all.\n${"- a fact of long ago\n".repeat(900)}- the very last fact`;
    const compaction = {
      type: "compaction",
      id: "cccc0001",
      parentId: "aaaa0001",
      timestamp: "2026-11-20T09:00:01.000Z",
      summary,
      firstKeptEntryId: "cccc0001",
      tokensBefore: 90_000,
    };
    const [first, ...later] = [10, 10, 20, 6_000, 20].map((words, at) => message(at, words));
    later[1] = { ...later[1]!, parentId: compaction.id };
    const file = writeLines([header, first!, later[0]!, compaction, ...later.slice(1)]);
    const { code, stdout } = await run(["compact", file, "--keep", "10", "--json"]);

    expect([code, report(stdout).status]).toEqual([0, "compacted"]);
    const sent = server.requests.map(({ body }) => JSON.stringify(body)).join("");
    for (const fact of ["First of all.", "the very last fact"]) expect(sent).toContain(fact);
  });

  test("a refusal of the smallest part fails and leaves the session unchanged", async () => {
    const { refused, run } = await boxServer({ windowTokens: 0, refusal: wordless, fallback: "never" });
    const file = long();
    const before = readFileSync(file);
    const { code, stderr } = await run(["compact", file, "--keep", "10"]);
    expect(code).toBe(1);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain("prompt is too long");
    expect(refused.length).toBeLessThan(12);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("a rate limit in the middle is waited for, and halves nothing", async () => {
    const limited = { ...refusedWith("Rate limit reached", 429) };
    const now = { ...limited, headers: { ...limited.headers, "retry-after": "0" } };
    const instead = (index: number) => (index === 3 ? now : undefined);
    const { server, run } = await boxServer({ windowTokens: 15_000, instead });
    const { code, stdout } = await run(["compact", long(), "--keep", "10", "--json"]);
    expect([code, report(stdout).rung]).toEqual([0, "chunks"]);
    expect(server.requests[4]?.body).toEqual(server.requests[3]?.body);
  });

  test("a refusal for another reason is not retried in smaller parts", async () => {
    const instead = (index: number) => (index === 3 ? refusedWith("no such key", 401) : undefined);
    const { server, run } = await boxServer({ windowTokens: 15_000, instead, fallback: "never" });
    const { code, stderr } = await run(["compact", long(), "--keep", "10"]);
    expect([code, stderr.includes("no such key")]).toEqual([1, true]);
    expect(server.requests).toHaveLength(4);
  });

  test("Esc between two parts leaves the session as it is", async () => {
    const stop = new AbortController();
    const instead = (index: number) => {
      if (index === 3) stop.abort();
      return undefined;
    };
    const { server, run } = await boxServer({ windowTokens: 15_000, instead });
    const file = long();
    const before = readFileSync(file);
    const { code } = await run(["compact", file, "--keep", "10"], stop.signal);
    expect([code, server.requests.length]).toEqual([130, 4]);
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});

describe("bonsai goto --summarize with a server whose window is smaller than declared", () => {
  test("the branch is summarised in parts that fit", () =>
    everyRow<[string, Server, number[]]>([
      ["15k, told in numbers", { windowTokens: 15_000 }, Array(12).fill(4_000)],
      ["4k, without numbers", { windowTokens: 4_096, refusal: wordless }, Array(12).fill(4_000)],
      [
        "15k, told as one in which nothing fits",
        { windowTokens: 15_000, refusal: (n) => told(n, 1_024) },
        Array(12).fill(4_000),
      ],
      [
        "4k, and one message is larger than that",
        { windowTokens: 4_096, refusal: wordless },
        [20, 20, 20, 16_000],
      ],
    ])(async ([_, options, words]) => {
      const { refused, taken, run } = await boxServer(options);
      const file = talk(words);
      const { code, stdout } = await run(["goto", file, "aaaa0001", "--summarize", "--json"]);
      const { summaryEntryId } = JSON.parse(stdout) as GotoReport;
      const entry = openSession(file).entry(summaryEntryId!);
      const last = `- Part ${taken.length}.`;
      expect([code, entry?.type === "branch_summary" && entry.summary.includes(last)]).toEqual([0, true]);
      expect([taken.length > 1, refused.length > 0, refused.length < 12]).toEqual([true, true, true]);
    }));
});
