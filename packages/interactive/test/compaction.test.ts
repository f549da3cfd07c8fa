import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario } from "@bonsai-agent/models";
import { type LoopbackReply, loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import { expect, onTestFinished, test } from "vitest";
import { agentProject } from "../../app/test/agent-project.ts";
import { modelSummary } from "../../app/test/model-summary.ts";
import { longSession } from "../../app/test/sample-session.ts";
import { openInteractive } from "./harness.ts";
import { longPlay, type OpenedLong, openLong as openLongSession } from "./long-setup.ts";

const summary = modelSummary();
const play = longPlay;
const refusing: Scenario = { ...play, summary: [{ error: { status: 400, message: "no summary today" } }] };
/** The user has time to press a key. */
const slow: Scenario = { ...play, summary: [{ text: summary, delayMs: 60_000 }] };

/** On a session that is larger than the window. */
const openLong = (scenario: Scenario, env: Record<string, string> = {}) => openLongSession({ scenario, env });

function times(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** The screen as one line: notices are wrapped. */
function flatScreen({ terminal }: Pick<OpenedLong, "terminal">): string {
  return terminal.scrollback().replaceAll(/\s+/g, " ");
}

test("/compact: the compaction stands at the end of the chat, and below it what was done; /undo takes it back", async () => {
  const opened = await openLong(play);
  const { terminal } = opened;
  terminal.type("/compact the tests\n");
  await terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(
    /\[compaction\] Compacted from 107,364 tokens.*Compacted: 107,364 → about [\d,]+ tokens, with a summary; 1 request\./,
  );
  terminal.type("/undo\n");
  await terminal.until("taken back");
  await terminal.until(/~10\dk\/100k/);
  expect(flatScreen(opened)).toMatch(
    /taken back: [\d,]+ → about 107,364 tokens\. ! That is above 83,616 tokens/,
  );
  terminal.type("/undo\n");
  await terminal.until("nothing_to_undo");
});

test("/session shows which compactions hold where one is", async () => {
  const opened = await openLong(play);
  const { terminal } = opened;
  terminal.type("/compact\n");
  await terminal.until("Compacted: ");
  terminal.type("/session\n");
  await terminal.until(/compactions +1$/m);
  terminal.type("/undo\n");
  await terminal.until("taken back");
  terminal.type("/session\n");
  await terminal.until("1, 0 of them in force here");
});

test("/compact of what is small says that there is nothing to compact", async () => {
  const { terminal } = openInteractive({ scenario: play });
  await terminal.until("/100k");
  terminal.type("/compact\n");
  await terminal.until("There is nothing to compact");
  await terminal.until(/keepRecentTokens\s+in\s+\/settings/);
  expect(times(terminal.scrollback(), "nothing to compact")).toBe(1);
});

test("a summariser that is busy: the line says when it is asked again, and Esc cancels there too", async () => {
  const error = { status: 529, message: "overloaded today" };
  const { terminal } = await openLong({ ...play, summary: [{ error }] }, { BONSAI_DISABLE_MASK: "1" });
  terminal.type("go on\n");
  await terminal.until(/Auto-compacting\.\.\. retry 1 of \d+ in \d+s \(Esc to cancel\) · .*overl/);
  terminal.press("esc");
  await terminal.until("Compaction cancelled; nothing was changed.");
  await terminal.until("Well.");
  expect(terminal.screen()).not.toMatch(/retry 1|Retrying/);
});

test("a failed /compact says once why and what to do, and leaves the file as it was", async () => {
  const opened = await openLong(refusing);
  const before = readFileSync(opened.file, "utf8");
  opened.terminal.type("/compact\n");
  await opened.terminal.until("compaction_failed");
  expect(flatScreen(opened)).toMatch(
    /Compaction failed\. Causes: .*no summary today.*built-in digest.*`bonsai compact --digest`/,
  );
  expect(times(flatScreen(opened), "Compaction failed.")).toBe(1);
  expect(readFileSync(opened.file, "utf8")).toBe(before);
});

test("that a compaction failed does not stand below one that was made then", async () => {
  const error = { status: 400, message: "no summary today" };
  const opened = await openLong({ ...play, summary: [{ error }, { text: summary }] });
  opened.terminal.type("/compact\n");
  await opened.terminal.until("compaction_failed");
  opened.terminal.type("/compact\n");
  const screen = await opened.terminal.until("Compacted: ");
  expect(screen).toContain("[compaction] Compacted from");
  expect(screen).not.toContain("Compaction failed");
});

test("Esc cancels a compaction, and nothing was changed", async () => {
  const opened = await openLong(slow);
  const { terminal, file } = opened;
  const before = readFileSync(file, "utf8");
  terminal.type("/compact\n");
  await terminal.until(/compacting/i);
  terminal.press("esc");
  await terminal.until("Compaction cancelled; nothing was changed.");
  expect(times(flatScreen(opened), "Compaction cancelled")).toBe(1);
  expect(readFileSync(file, "utf8")).toBe(before);
});

test("Esc cancels an automatic compaction alone: the prompt is answered, and what was queued too", async () => {
  const answers = [{ text: "First answer." }, { text: "Second answer." }];
  const { terminal } = await openLong({ ...slow, turn: answers }, { BONSAI_DISABLE_MASK: "1" });
  terminal.type("first\n");
  await terminal.until(/Auto-compacting/);
  terminal.type("second\n");
  await terminal.until("Next: second");
  terminal.press("esc");
  await terminal.until("Compaction cancelled; nothing was changed.");
  await terminal.until("First answer.");
  await terminal.until("Second answer.");
});

test("masks alone: how many results, and how much they freed", async () => {
  const opened = await openLong(play);
  opened.terminal.type("go on\n");
  await opened.terminal.until("Well.");
  expect(flatScreen(opened)).toMatch(
    /Masked \d+ old tool results, freeing [\d,]+ tokens: 10[\d,]+ → about [\d,]+ tokens\./,
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

test("automatic compaction that fails is notified once each time; then the opened breaker is", async () => {
  const usage = { input: 95_000, output: 10 };
  const turn = [{ text: "Well.", usage }];
  const opened = await openLong({ ...refusing, turn }, { BONSAI_DISABLE_MASK: "1" });
  const { terminal } = opened;
  for (const round of [1, 2, 3, 4, 5]) {
    terminal.type(`go on ${round}\n`);
    await terminal.until(() => times(terminal.scrollback(), "Well.") === round);
  }
  expect(times(flatScreen(opened), "Compaction failed.")).toBe(3);
  expect(
    times(flatScreen(opened), "Automatic compaction is paused: 3 compactions in a row have failed."),
  ).toBe(1);
  expect(flatScreen(opened)).toContain("choose a model with a larger window.");
});

test("the breaker closes again after a compaction that went well", async () => {
  const usage = { input: 95_000, output: 10 };
  const bad = { error: { status: 400, message: "no summary today" } };
  const opened = await openLong(
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
  expect(times(flatScreen(opened), "Compacted: 131,072 → about")).toBe(1);
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

test("/compact during a run waits for its place, and the run goes on", async () => {
  const first = { text: "Looking around, and telling of it.", delayMs: 40, chunkChars: 2 };
  const turn = [{ ...first, calls: [{ name: "ls" }] }, { text: "All seen." }];
  const opened = await openLong(
    { ...play, turn },
    { BONSAI_DISABLE_MASK: "1", BONSAI_DISABLE_AUTOCOMPACT: "1" },
  );
  const { terminal } = opened;
  terminal.type("look\n");
  await terminal.until("Looki");
  terminal.type("/compact what was seen\n");
  await terminal.until("at the next place");
  await terminal.until("All seen.");
  expect(times(flatScreen(opened), "Compacted: ")).toBe(1);
});

test("/compact whose place never came, for the work was stopped, is notified", async () => {
  const turn = [{ text: "Looking around.", delayMs: 60_000 }];
  const opened = await openLong({ ...play, turn }, { BONSAI_DISABLE_AUTOCOMPACT: "1" });
  const { terminal } = opened;
  terminal.type("look\n");
  await terminal.until("Waiting for the model");
  terminal.type("/compact\n");
  await terminal.until("at the next place");
  terminal.press("esc");
  await terminal.until("Compaction cancelled; nothing was changed.");
  expect(flatScreen(opened)).toContain("The user stopped the work before it began.");
});

test("/context is a panel: scrolled where it is tall, left by Esc, and the editor has what was typed", async () => {
  const { terminal } = await openLong(play);
  terminal.resize(40, 20);
  terminal.type("/context\n");
  await terminal.until("close");
  expect(terminal.screen()).toContain("Context: 107,364");
  terminal.press("pageDown");
  await terminal.until("The largest messages");
  terminal.press("pageUp");
  await terminal.until("Context: 107,364");
  terminal.press("esc");
  await terminal.until((screen) => !screen.includes("Context: 107,364"));
  terminal.type("still here");
  await terminal.until("still here");
});

test("an extension that lets no automatic compaction happen is notified once, with its reason", async () => {
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
    times(flatScreen(opened), "Compaction cancelled by refusal.ts; nothing was changed. Not on my watch."),
  ).toBe(1);
  terminal.type("/compact\n");
  await terminal.until(() => times(flatScreen(opened), "Not on my watch.") === 2);
});

test("a result that is larger than the window is shortened: what was done is said, and the chat says so of the result", async () => {
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
    /Shortened 1 large message, freeing [\d,]+ tokens: .* The session keeps it whole\./,
  );
  expect(flatScreen(opened)).toContain("shortened: the model sees a part of it");
  expect(flatScreen(opened)).not.toContain("masked");
});

test("after an overflow whose summary failed, the digest's line says why it was not the model's", async () => {
  const error = { status: 400, message: "prompt is too long: 120000 tokens > 100000 maximum" };
  const opened = await openLong(
    { ...refusing, turn: [{ error }, { text: "After all." }] },
    { BONSAI_DISABLE_MASK: "1", BONSAI_DISABLE_AUTOCOMPACT: "1" },
  );
  opened.terminal.type("go on\n");
  await opened.terminal.until("After all.");
  expect(flatScreen(opened)).toMatch(
    /with the built-in digest.*The model's own summary failed: .*no summary today/,
  );
});

test("a /compact that makes the context larger says so", async () => {
  const answers = [{ text: "One." }, { text: "word ".repeat(30_000) }, { text: "Three." }];
  const opened = openInteractive({ scenario: { ...play, contextWindow: 200_000, turn: answers }, rows: 40 });
  await opened.terminal.until("/200k");
  for (const text of ["a", "b", "c"]) {
    opened.terminal.type(`${text}\n`);
    await opened.terminal.until(text === "c" ? "Three." : text === "a" ? "One." : "word");
    await opened.terminal.until((screen) => !/Answering|Waiting/.test(screen));
  }
  opened.terminal.type("/compact\n");
  await opened.terminal.until("Compacted: ");
  expect(flatScreen(opened)).toContain(
    "The summary is longer than the little that it stands for; /undo takes it back.",
  );
});

test("/compact preview shows the plan that /compact then carries out, and writes nothing", async () => {
  const opened = await openLong(play);
  const { terminal, file } = opened;
  const before = readFileSync(file, "utf8");
  terminal.type("/compact preview\n");
  await terminal.until("What /compact would do; nothing is done yet.");
  expect(terminal.screen()).toMatch(/summarised +\d+ items/);
  expect(terminal.screen()).toMatch(/Plan +107,364 →/);
  expect(terminal.screen()).toMatch(/→ about [\d,]+ tokens/);
  expect(flatScreen(opened)).toContain("it is not written yet");
  terminal.press("esc");
  await terminal.until((screen) => !screen.includes("What /compact would do"));
  expect(readFileSync(file, "utf8")).toBe(before);
  const cut = /cut (?:inside a turn )?(?<id>[0-9a-f]{8})/;
  terminal.type("/compact --dry-run\n");
  await terminal.until(cut);
  const { id } = cut.exec(terminal.screen())?.groups ?? {};
  terminal.press("esc");
  terminal.type("/compact\n");
  await terminal.until("Compacted: ");
  const compaction = readFileSync(file, "utf8")
    .split("\n")
    .findLast((line) => line.includes('"type":"compaction"'));
  expect(JSON.parse(compaction ?? "{}").firstKeptEntryId).toBe(id);
});

test("/compact preview of what is small says why nothing would be done", async () => {
  const { terminal } = openInteractive({ scenario: play });
  await terminal.until("/100k");
  terminal.type("/compact preview\n");
  await terminal.until("There is nothing to compact");
});

test("an extension whose summary stands is named", async () => {
  const own = `export default (bonsai) => bonsai.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({
    compaction: { summary: "## Goal\\nMine.", firstKeptEntryId, tokensBefore },
  }));`;
  const project = agentProject(play, { "own-summary.ts": own });
  const opened = openInteractive({
    project,
    argv: ["--session", longSession(), "-e", "own-summary.ts"],
    rows: 40,
  });
  await opened.terminal.until("k/100k");
  opened.terminal.type("/compact\n");
  await opened.terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(/tokens, with the summary of \S*own-summary/);
});

test("the notice of a compaction goes with it, where the tree leads to before it", async () => {
  const opened = await openLong(play);
  const { terminal } = opened;
  terminal.type("/compact\n");
  await terminal.until("Compacted: ");
  terminal.type("/undo\n");
  await terminal.until("taken back");
  expect(terminal.screen()).toContain("Compacted: ");
  terminal.type("/tree\n");
  expect(await terminal.until(/compaction +undone of/)).toContain("undone of 107,364 tokens");
  terminal.press("up");
  terminal.press("up");
  terminal.press("enter");
  await terminal.until(/No summary/i);
  terminal.press("enter");
  await terminal.until((screen) => !screen.includes("No summary"));
  await terminal.settle();
  expect(terminal.screen()).not.toContain("Compacted: ");
  expect(terminal.screen()).not.toContain("taken back");
});
