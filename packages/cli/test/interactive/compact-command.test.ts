import { readFileSync } from "node:fs";
import { createSession } from "@bonsai-agent/session";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { askedCompaction } from "../../src/interactive/slash/compaction-commands.ts";
import { agentProject } from "../call/agent-project.ts";
import { longSession, testFolder } from "../call/sample-session.ts";
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

test("/compact: the compaction stands at the end of the chat, and below it what was done; /undo takes it back", async () => {
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

test("/compact again makes the latest compaction anew from the originals; without one, it says so", async () => {
  const opened = await openLong(play);
  const { terminal } = opened;
  terminal.type("/compact again\n");
  await terminal.until("nothing_to_make_anew");
  terminal.type("/compact\n");
  await terminal.until("Compacted: ");
  terminal.type("/compact again digest the tests\n");
  await terminal.until("Compacted again");
  expect(flatScreen(opened)).toMatch(
    /Compacted again from the original messages: ~?[\d,]+ → ~[\d,]+ tokens, with the built-in digest/,
  );
});

test("/compact of what is small says that there is nothing to compact", async () => {
  const { terminal } = openInteractive({ scenario: play });
  await terminal.until("/100k");
  terminal.type("/compact\n");
  await terminal.until("Nothing to compact");
  await terminal.until(/the\s+session\s+has\s+no\s+messages/);
  expect(times(terminal.scrollback(), "Nothing to compact")).toBe(1);
});

/** Two turns that are recent, and long enough for a summary to be worth it. */
async function openLittle() {
  const scenario = { ...play, turn: [{ text: `${"many words ".repeat(1_500)} Well.` }] };
  const opened = openInteractive({ scenario });
  await opened.terminal.until("/100k");
  for (const count of [1, 2]) {
    opened.terminal.type(`request ${count}\n`);
    await opened.terminal.until(() => times(opened.terminal.scrollback(), "Well.") === count);
  }
  return opened;
}

test("/compact of little offers to do it all the same, and says what that would do", async () => {
  const opened = await openLittle();
  const { terminal } = opened;
  terminal.type("/compact digest\n");
  await terminal.until("Compact anyway?");
  const said = terminal.screen().replaceAll(/\s+/g, " ");
  expect(said).toMatch(/The built-in digest would summarise 2 messages and keep the last 2 messages\./);
  expect(said).toMatch(/Context: ~?[\d,]+ → ~[\d,]+ tokens/);
  terminal.type("y");
  terminal.press("enter");
  await terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(/with the built-in digest/);
  expect(flatScreen(opened)).not.toContain("Nothing to compact");
});

test("/compact of so little that a summary would be larger says that, and asks nothing", async () => {
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

test("/compact preview of little shows what /compact offers: the same cut and the same sizes", async () => {
  const opened = await openLittle();
  const { terminal } = opened;
  terminal.type("/compact preview digest\n");
  await terminal.until("All messages are recent, so it asks before it starts.");
  const sizes = /Plan +(~?[\d,]+ → ~[\d,]+ tokens)/.exec(terminal.screen())?.[1];
  expect(terminal.screen()).toMatch(/summarised +2 items/);
  terminal.press("esc");
  terminal.type("/compact digest\n");
  await terminal.until("Compact anyway?");
  expect(terminal.screen().replaceAll(/\s+/g, " ")).toContain(`Context: ${sizes}.`);
});

test("a no to /compact of little changes nothing", async () => {
  const { terminal } = await openLittle();
  terminal.type("/compact\n");
  await terminal.until("Compact anyway?");
  terminal.press("enter");
  terminal.type("third\n");
  await terminal.until(() => times(terminal.scrollback(), "Well.") === 3);
  expect(terminal.scrollback()).not.toContain("Compacted: ");
});

test("a summary request that is refused as busy: the line says when it is sent again, and Esc cancels there too", async () => {
  const error = { status: 529, message: "overloaded today" };
  const { terminal } = await openLong({ ...play, summary: [{ error }] }, { BONSAI_DISABLE_MASK: "1" });
  terminal.type("go on\n");
  await terminal.until(/Auto-compacting\.\.\. retry 1 of \d+ in \d+ s \(Esc to cancel\) · .*overl/);
  terminal.press("esc");
  await terminal.until("Compaction cancelled. Nothing changed.");
  await terminal.until("Well.");
  expect(terminal.screen()).not.toMatch(/retry 1|Retrying/);
});

test("a failed /compact says once why and what to do, and leaves the file as it was", async () => {
  const opened = await openWithoutFallback(refusing);
  const before = readFileSync(opened.file, "utf8");
  opened.terminal.type("/compact\n");
  await opened.terminal.until("Compact with the built-in digest?");
  opened.terminal.press("esc");
  await opened.terminal.until((screen) => !screen.includes("Compact with the built-in digest?"));
  expect(flatScreen(opened)).toMatch(
    /Compaction failed\. Causes: .*no summary today.*built-in digest.*`\/compact digest`/,
  );
  expect(times(flatScreen(opened), "Compaction failed.")).toBe(1);
  expect(readFileSync(opened.file, "utf8")).toBe(before);
});

test("after a failed /compact the digest is offered, and yes compacts with it", async () => {
  const opened = await openWithoutFallback(refusing);
  const { terminal } = opened;
  terminal.type("/compact the tests\n");
  await terminal.until("Compact with the built-in digest?");
  terminal.type("y");
  terminal.press("enter");
  const screen = await terminal.until("Compacted: ");
  expect(screen).not.toContain("Compaction failed");
  expect(flatScreen(opened)).toMatch(/with the built-in digest\./);
});

test("a /compact whose summary fails goes to the digest without a question, and says why", async () => {
  const opened = await openLong(refusing);
  opened.terminal.type("/compact\n");
  await opened.terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(
    /with the built-in digest; 1 request, free of charge\. Used the built-in digest because the model's summary failed: .*no summary today/,
  );
  expect(opened.terminal.screen()).not.toContain("Compact with the built-in digest?");
});

test("without a model, none is asked: /compact makes the digest at once, and counts no request", async () => {
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

test("/compact digest asks no model", async () => {
  const opened = await openLong(slow);
  opened.terminal.type("/compact digest the tests\n");
  await opened.terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(/tokens, with the built-in digest\./);
});

test("/compact digest while a model is waited for takes its place", async () => {
  const opened = await openLong(slow);
  const { terminal } = opened;
  terminal.type("/compact\n");
  await terminal.until(/compacting/i);
  terminal.type("/compact digest\n");
  await terminal.until("Compacted: ");
  expect(flatScreen(opened)).toMatch(/tokens, with the built-in digest\./);
});

test("/compact reads its flags before the focus", () =>
  everyRow([
    ["", {}],
    ["the tests", { focus: "the tests" }],
    ["digest", { useDigest: true }],
    ["--digest", { useDigest: true }],
    ["digest  the tests\nand more", { useDigest: true, focus: "the tests\nand more" }],
    ["digest\nthe tests", { useDigest: true, focus: "the tests" }],
    ["digests of the day", { focus: "digests of the day" }],
    ["digest: how it is made", { focus: "digest: how it is made" }],
    ["Digest of the day", { focus: "Digest of the day" }],
    ["-- digest of the day", { focus: "digest of the day" }],
    ["-- preview", { focus: "preview" }],
    ["--", {}],
    ["digest -- digest", { useDigest: true, focus: "digest" }],
    ["--digests", { focus: "--digests" }],
    ["again", { replacesLatest: true }],
    ["--again the tests", { replacesLatest: true, focus: "the tests" }],
    ["again digest the tests", { replacesLatest: true, useDigest: true, focus: "the tests" }],
    ["digest again", { replacesLatest: true, useDigest: true }],
    ["again again", { replacesLatest: true, focus: "again" }],
    ["again -- digest", { replacesLatest: true, focus: "digest" }],
    ["--before 0000010c the tests", { firstKeptEntryId: "0000010c", focus: "the tests" }],
    [
      "again --before 0000010c -- --before",
      { replacesLatest: true, firstKeptEntryId: "0000010c", focus: "--before" },
    ],
    ["preview", { isPreview: true }],
    ["--dry-run again", { isPreview: true, replacesLatest: true }],
    [
      "preview again --before 0000010c digest -- preview",
      {
        isPreview: true,
        replacesLatest: true,
        firstKeptEntryId: "0000010c",
        useDigest: true,
        focus: "preview",
      },
    ],
    ["previews of the day", { focus: "previews of the day" }],
    ["before the tests", { focus: "before the tests" }],
    ["against the wall", { focus: "against the wall" }],
  ])(([args, asked]) => {
    expect(askedCompaction(args)).toEqual(asked);
  }));

test("the notice of a failed compaction goes when a later one succeeds", async () => {
  const error = { status: 400, message: "no summary today" };
  const opened = await openWithoutFallback({ ...play, summary: [{ error }, { text: summary }] });
  opened.terminal.type("/compact\n");
  await opened.terminal.until("Compact with the built-in digest?");
  opened.terminal.press("esc");
  await opened.terminal.until((screen) => !screen.includes("Compact with the built-in digest?"));
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
  await terminal.until("Compaction cancelled. Nothing changed.");
  expect(times(flatScreen(opened), "Compaction cancelled")).toBe(1);
  expect(readFileSync(file, "utf8")).toBe(before);
});

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
  await terminal.until("as soon as the current step ends");
  await terminal.until("All seen.");
  expect(times(flatScreen(opened), "Compacted: ")).toBe(1);
});

test("a /compact that was not begun because the work was stopped is reported by a notice", async () => {
  const turn = [{ text: "Looking around.", delayMs: 60_000 }];
  const opened = await openLong({ ...play, turn }, { BONSAI_DISABLE_AUTOCOMPACT: "1" });
  const { terminal } = opened;
  terminal.type("look\n");
  await terminal.until("Waiting for the model");
  terminal.type("/compact\n");
  await terminal.until("as soon as the current step ends");
  terminal.press("esc");
  await terminal.until("Compaction cancelled. Nothing changed.");
  expect(flatScreen(opened)).toContain("The user stopped the agent before the compaction began.");
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
    "The summary is longer than the messages it replaced. Undo it with /undo.",
  );
});

test("/compact preview shows the plan that /compact then carries out, and writes nothing", async () => {
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
  await terminal.until("Nothing to compact");
});

test("an extension whose summary is used is named", async () => {
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
