import { readFileSync } from "node:fs";
import { createSession } from "@bonsai-agent/session";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { parseCompactArgs } from "../../src/call/compactions.ts";
import { agentProject } from "../call/agent-project.ts";
import { longSession, testFolder } from "../call/sample-session.ts";
import { flatScreen, openLong, play, slow, times } from "./compaction-setup.ts";
import { openInteractive } from "./harness.ts";

test("/compact shows the compaction and a notice at the end of the chat; /undo and /redo apply to it", async () => {
  const opened = await openLong(play);
  const { terminal } = opened;
  terminal.type("/compact the tests\n");
  await terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(
    /\[compaction\] Compacted from ~?107,364 tokens.*Compacted: ~?107,364 → ~[\d,]+ tokens, with a summary; 1 request, free of charge\./,
  );
  terminal.type("/undo\n");
  await terminal.until("Undid the compaction");
  await terminal.until(/~10\dk\/100k/);
  expect(flatScreen(opened)).toMatch(
    /Undid the compaction of [^(]*\d\d:\d\d \(focus: the tests\)\. Context: ~[\d,]+ → ~107,364 tokens\. ! The context is above 83,616 tokens/,
  );
  terminal.type("/undo\n");
  await terminal.until("nothing_to_undo");
  terminal.type("/redo\n");
  await terminal.until(
    /Redid the compaction of [^(]*\d\d:\d\d\s+\(focus:\s+the\s+tests\)\.\s+Context:\s+~107,364\s+→\s+~[\d,]+/,
  );
  terminal.type("/redo\n");
  await terminal.until("nothing_to_redo");
});

test("/compact and /compact preview of an empty session give one notice each", async () => {
  const { terminal } = openInteractive({ scenario: play });
  await terminal.until("/100k");
  const notice = "Nothing to compact: the session has no messages.";
  for (const [count, line] of [
    [1, "/compact\n"],
    [2, "/compact preview\n"],
  ] as const) {
    terminal.type(line);
    await terminal.until(() => times(terminal.scrollback().replaceAll(/\s+/g, " "), notice) === count);
  }
});

test("/compact asks nothing if a summary would be larger than the messages", async () => {
  const opened = openInteractive({ scenario: play });
  const { terminal } = opened;
  await terminal.until("/100k");
  for (const count of [1, 2]) {
    terminal.type("short\n");
    await terminal.until(() => times(terminal.scrollback(), "Well.") === count);
  }
  terminal.type("/compact\n");
  await terminal.until(/Nothing\s+to\s+compact:\s+a\s+summary\s+would\s+be\s+larger/);
  expect(terminal.screen()).not.toContain("anyway");
});

test("/compact of recent messages asks first; no changes nothing, yes compacts", async () => {
  const scenario = { ...play, turn: [{ text: `${"many words ".repeat(1_500)} Well.` }] };
  const opened = openInteractive({ scenario });
  const { terminal } = opened;
  await terminal.until("/100k");
  for (const count of [1, 2]) {
    terminal.type(`request ${count}\n`);
    await terminal.until(() => times(terminal.scrollback(), "Well.") === count);
  }
  terminal.type("/compact digest\n");
  await terminal.until("Compact anyway?");
  const question = terminal.screen().replaceAll(/\s+/g, " ");
  expect(question).toContain("The built-in digest would summarise 2 messages and keep the last 2 messages.");
  expect(question).toMatch(/Context: ~?[\d,]+ → ~[\d,]+ tokens\./);
  terminal.press("enter");
  await terminal.until((screen) => !screen.includes("Compact anyway?"));
  expect(flatScreen(opened)).not.toContain("Compacted: ");
  terminal.type("/compact digest\n");
  await terminal.until("Compact anyway?");
  terminal.type("y");
  terminal.press("enter");
  await terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(/with the built-in digest/);
  expect(flatScreen(opened)).not.toContain("Nothing to compact");
});

test("/compact without a model uses the digest at once, and counts no request", async () => {
  const file = `${testFolder()}/modelless.jsonl`;
  const session = createSession({ cwd: "/project", file });
  history('U"Port the parser." A:90000 | U:9000 A:90000 | U"Go on." A:900', session);
  session.close();
  const opened = openInteractive({ withModel: false, argv: ["--session", file], columns: 120 });
  await opened.terminal.until("No model available yet");
  opened.terminal.type("/compact\n");
  await opened.terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(/tokens, with the built-in digest\.(?! The model)/);
});

test("Esc cancels a running summary without a change, and /compact digest replaces one", async () => {
  const opened = await openLong(slow);
  const { terminal, file } = opened;
  const before = readFileSync(file, "utf8");
  terminal.type("/compact\n");
  await terminal.until("Compacting... (Esc to cancel)");
  terminal.press("esc");
  await terminal.until("Compaction cancelled. Nothing changed.");
  expect(times(flatScreen(opened), "Compaction cancelled")).toBe(1);
  expect(readFileSync(file, "utf8")).toBe(before);
  terminal.type("/compact\n");
  await terminal.until("Compacting... (Esc to cancel)");
  terminal.type("/compact digest the tests\n");
  await terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(/tokens, with the built-in digest\./);
});

test("/compact reads preview and digest before the focus", () =>
  everyRow([
    ["", {}],
    ["the tests", { focus: "the tests" }],
    ["digest", { useDigest: true }],
    ["digest  the tests\nand more", { useDigest: true, focus: "the tests\nand more" }],
    ["digests of the day", { focus: "digests of the day" }],
    ["preview", { isPreview: true }],
    ["preview digest the tests", { isPreview: true, useDigest: true, focus: "the tests" }],
  ])(([args, asked]) => {
    expect(parseCompactArgs(args)).toEqual(asked);
  }));

test("/compact during a run waits for the end of the step, and the run continues", async () => {
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
  await terminal.until("as soon as the current step ends");
  await terminal.until("All seen.");
  expect(times(flatScreen(opened), "Compacted: ")).toBe(1);
});

test("/compact warns if the context became larger", async () => {
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
    "The summary is longer than the messages it replaced. Undo it with /undo.",
  );
});

test("/compact preview shows the plan of /compact, and writes nothing", async () => {
  const opened = await openLong(play);
  const { terminal, file } = opened;
  const before = readFileSync(file, "utf8");
  terminal.type("/compact preview\n");
  await terminal.until("Plan for /compact. Nothing has changed yet.");
  expect(terminal.screen()).toMatch(/summarised +\d+ items/);
  expect(terminal.screen()).toMatch(/Plan +~?107,364 →/);
  expect(terminal.screen()).toMatch(/→ ~[\d,]+ tokens/);
  expect(flatScreen(opened)).toContain("not written yet");
  terminal.press("esc");
  await terminal.until((screen) => !screen.includes("Plan for /compact"));
  expect(readFileSync(file, "utf8")).toBe(before);
  const cut = /cut (?:inside a turn )?(?<id>[0-9a-f]{8})/;
  terminal.type("/compact preview\n");
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

test("the notice names the extension that wrote the summary", async () => {
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
