import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type LoopbackReply, loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import { expect, onTestFinished, test } from "vitest";
import { agentProject } from "../call/agent-project.ts";
import { longSession } from "../call/sample-session.ts";
import {
  flatScreen,
  openLong,
  openWithoutFallback,
  play,
  refusing,
  slow,
  summary,
  times,
} from "./compaction-setup.ts";
import { openInteractive } from "./harness.ts";

test("Esc cancels an automatic compaction alone: the prompt is answered, and what was queued too", async () => {
  const answers = [{ text: "First answer." }, { text: "Second answer." }];
  const { terminal } = await openLong({ ...slow, turn: answers }, { BONSAI_DISABLE_MASK: "1" });
  terminal.type("first\n");
  await terminal.until(/Auto-compacting/);
  terminal.type("second\n");
  await terminal.until("Next: second");
  terminal.press("esc");
  await terminal.until("Compaction cancelled. Nothing changed.");
  await terminal.until("First answer.");
  await terminal.until("Second answer.");
});

test("a notice reports masked results and freed tokens", async () => {
  const opened = await openLong(play);
  opened.terminal.type("go on\n");
  await opened.terminal.until("Well.");
  expect(flatScreen(opened)).toMatch(
    /Masked \d+ old tool results, freeing ~[\d,]+ tokens: ~?10[\d,]+ → ~[\d,]+ tokens\./,
  );
  expect(opened.terminal.scrollback()).not.toContain("[compaction]");
});

test("an overflow: the context is compacted, and the request is answered", async () => {
  const error = { status: 400, message: "prompt is too long: 120000 tokens > 100000 maximum" };
  const turn = [{ error }, { text: "After all." }];
  const opened = await openLong(
    { ...play, turn },
    { BONSAI_DISABLE_MASK: "1", BONSAI_DISABLE_AUTOCOMPACT: "1" },
  );
  opened.terminal.type("go on\n");
  await opened.terminal.until(/After all|\[compaction\]|context_overflow/);
  await opened.terminal.until("After all.");
  expect(times(flatScreen(opened), "Compacted: ")).toBe(1);
});

test("each failed automatic compaction is reported by one notice; then the opened breaker is", async () => {
  const usage = { input: 95_000, output: 10 };
  const turn = [{ text: "Well.", usage }];
  const opened = await openWithoutFallback({ ...refusing, turn }, { BONSAI_DISABLE_MASK: "1" });
  const { terminal } = opened;
  for (const round of [1, 2, 3, 4, 5]) {
    terminal.type(`go on ${round}\n`);
    await terminal.until(() => times(terminal.scrollback(), "Well.") === round);
  }
  expect(times(flatScreen(opened), "Compaction failed.")).toBe(3);
  expect(times(flatScreen(opened), "Automatic compaction is paused: 3 compactions in a row failed.")).toBe(1);
  expect(flatScreen(opened)).toContain("choose a model with a larger window.");
});

test("the breaker closes again after a compaction that went well", async () => {
  const usage = { input: 95_000, output: 10 };
  const bad = { error: { status: 400, message: "no summary today" } };
  const opened = await openWithoutFallback(
    {
      ...play,
      turn: [{ text: "Well.", usage }],
      summary: [
        { ...bad, times: 5 },
        { text: summary, times: 9 },
      ],
    },
    { BONSAI_DISABLE_MASK: "1" },
  );
  const { terminal } = opened;
  let said = 0;
  const goOn = async () => {
    terminal.type("go on\n");
    said += 1;
    await terminal.until(() => times(terminal.scrollback(), "Well.") === said);
  };
  for (let round = 0; round < 4; round += 1) await goOn();
  expect(flatScreen(opened)).toContain("Automatic compaction is paused");
  terminal.type("/compact\n");
  await terminal.until(() => times(flatScreen(opened), "Compacted: ") === 1);
  const compactions = () => times(readFileSync(opened.file, "utf8"), '"type":"compaction"');
  const before = compactions();
  // So much has to be older than what is kept.
  terminal.paste("word ".repeat(24_000));
  terminal.press("enter");
  await terminal.until(() => compactions() === before + 1);
  await terminal.until("Compacted: 95,0");
});

test("an overflow of a server: the context is compacted, the request sent again and answered", async () => {
  const message =
    "This model's maximum context length is 100000 tokens. However, your messages resulted in 131072 tokens. Please reduce the length of the messages.";
  const turns: object[] = [];
  const server = await loopbackServer(({ body }) => {
    if (!("tools" in (body as object))) return spoken(summary);
    turns.push(body as object);
    if (turns.length === 1)
      return {
        status: 400,
        headers: { "content-type": "application/json" },
        chunks: [
          JSON.stringify({
            error: { message, code: "context_length_exceeded", type: "invalid_request_error" },
          }),
        ],
      };
    return spoken("After all.");
  });
  onTestFinished(() => server.close());
  const project = agentProject(play);
  const models = [{ id: "coder", contextWindow: 200_000, maxOutputTokens: 8_000 }];
  const box = { provider: "box", baseUrl: `${server.url}/v1`, api: "openai-chat", models };
  writeFileSync(join(project.home, "models.json"), JSON.stringify({ providers: [box] }));
  const argv = ["--model", "box/coder", "--session", longSession()];
  const env = { BONSAI_DISABLE_MASK: "1" };
  const opened = openInteractive({ project, withModel: false, argv, env, rows: 40 });
  const { terminal } = opened;
  await terminal.until("k/200k");
  terminal.type("go on\n");
  await terminal.until("After all.");
  expect(terminal.written.join("")).toContain("Context overflow detected, Auto-compacting...");
  expect(times(flatScreen(opened), "Compacted: 131,072 → ~")).toBe(1);
  const [refused = "", answered = ""] = turns.map((body) => JSON.stringify(body));
  expect(turns).toHaveLength(2);
  expect(answered.length).toBeLessThan(refused.length / 2);
});

function spoken(content: string): LoopbackReply {
  const chunk = (delta: object, finish_reason: string | null) => ({
    data: { id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] },
  });
  const events = [chunk({ role: "assistant", content }, null), chunk({}, "stop"), { data: "[DONE]" }];
  return { headers: { "content-type": "text/event-stream" }, chunks: sseChunks(events) };
}

test("an extension that prevents automatic compaction is reported by one notice, with its reason", async () => {
  const refusal = `export default (bonsai) => bonsai.on("session_before_compact", () => ({ cancel: true, reason: "Not on my watch." }));`;
  const usage = { input: 95_000, output: 10 };
  const project = agentProject({ ...play, turn: [{ text: "Well.", usage }] }, { "refusal.ts": refusal });
  const opened = openInteractive({
    project,
    env: { BONSAI_DISABLE_MASK: "1" },
    argv: ["--session", longSession(), "-e", "refusal.ts"],
    rows: 40,
  });
  const { terminal } = opened;
  await terminal.until("k/100k");
  for (const round of [1, 2]) {
    terminal.type(`go on ${round}\n`);
    await terminal.until(() => times(terminal.scrollback(), "Well.") === round);
  }
  expect(
    times(flatScreen(opened), "Compaction cancelled by refusal.ts. Nothing changed. Not on my watch."),
  ).toBe(1);
  terminal.type("/compact\n");
  await terminal.until(() => times(flatScreen(opened), "Not on my watch.") === 2);
});

test("a result larger than the window is shortened, and a notice and the chat report it", async () => {
  const huge = Array.from({ length: 1_500 }, (_, at) => `line ${at} of a huge file with words in it`).join(
    "\n",
  );
  const turn = [
    { text: "Reading.", calls: [{ name: "read", arguments: { path: "huge.txt" } }] },
    { text: "Seen." },
  ];
  const opened = openInteractive({
    scenario: { ...play, contextWindow: 8_000, turn },
    files: { "huge.txt": huge },
    rows: 40,
  });
  await opened.terminal.until("/8k");
  opened.terminal.type("read it\n");
  await opened.terminal.until("Seen.");
  expect(flatScreen(opened)).toMatch(
    /Shortened 1 large message, freeing ~[\d,]+ tokens: .* The session file keeps the full text\./,
  );
  expect(flatScreen(opened)).toContain("shortened: the model sees only a part");
  expect(flatScreen(opened)).not.toContain("masked");
});

test("a failed summary is reported once; the next compaction asks no model and gives the time of the failure", async () => {
  const usage = { input: 95_000, output: 10 };
  const opened = await openLong(
    { ...refusing, turn: [{ text: "Well.", usage }] },
    { BONSAI_DISABLE_MASK: "1" },
  );
  const { terminal, file } = opened;
  terminal.type("go on\n");
  await terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(
    /digest; 1 request, free of charge\. Used the built-in digest because the model's summary failed: .*no summary today/,
  );
  await terminal.until("Well.");
  const compactions = () => times(readFileSync(file, "utf8"), '"type":"compaction"');
  const before = compactions();
  terminal.paste("word ".repeat(24_000));
  terminal.press("enter");
  await terminal.until(() => compactions() === before + 1);
  await terminal.until("minute ago.");
  expect(flatScreen(opened)).toMatch(
    /Compacted: [^!]*; shortened 1 large message\. The model's summary failed less than a minute ago\. Bonsai asks the model again/,
  );
});

test("after an overflow with a failed summary, the notice says why the digest was used", async () => {
  const error = { status: 400, message: "prompt is too long: 120000 tokens > 100000 maximum" };
  const opened = await openLong(
    { ...refusing, turn: [{ error }, { text: "After all." }] },
    { BONSAI_DISABLE_MASK: "1", BONSAI_DISABLE_AUTOCOMPACT: "1" },
  );
  opened.terminal.type("go on\n");
  await opened.terminal.until("After all.");
  expect(flatScreen(opened)).toMatch(
    /with the built-in digest.*Used the built-in digest because the model's summary failed: .*no summary today/,
  );
});
