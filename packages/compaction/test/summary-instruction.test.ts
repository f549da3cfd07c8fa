import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import {
  type CompactionReason,
  compactionSettings,
  navigateTree,
  runCompaction,
  summarySections,
} from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

/** Compacts a history and gives back what the summariser was asked. */
async function asked(
  notation: string,
  options: { keep?: number; reason?: CompactionReason; focus?: string; contextWindow?: number } = {},
) {
  const { keep = 200, reason = "manual", focus, contextWindow } = options;
  const { session } = history(notation);
  const summariser = scriptedSummariser([], contextWindow === undefined ? {} : { contextWindow });
  await runCompaction({
    session,
    reason,
    summariser,
    settings: compactionSettings({ keepRecentTokens: keep }, { estimator: "chars4", manualKeep: "same" }),
    ...(focus === undefined ? {} : { focus }),
  });
  return summariser.requests;
}

const LONG = "U:100 A:4000 | U:100 A:100";

test("the instruction names the first kept message and asks for the sections of its kind", async () => {
  const [request] = await asked(LONG);
  expect(request?.instruction).toMatch(/right before the user's message "u2 goes on\..*", message 2 counted/);
  for (const heading of summarySections.history) expect(request?.instruction).toContain(`## ${heading}`);
  expect(request?.instruction).toContain("Leave out the texts that the user has pinned");
  expect(request?.instruction).not.toContain("<conversation>");
  expect(request?.instruction).not.toContain("up to date");
});

test("a span that just fits the summariser is one request, a larger one is several", async () => {
  const [request] = await asked(LONG);
  const { system, user } = request!.prompt;
  const tokens = Math.ceil(system.length / 4) + Math.ceil(user.length / 4);
  // A quarter of the window is for the answer.
  const contextWindow = Math.ceil(tokens / 0.75);
  const [fitting, ...others] = await asked(LONG, { contextWindow });
  expect(fitting?.instruction).toBe(request?.instruction);
  expect(others).toEqual([]);
  const pieces = await asked(LONG, { contextWindow: contextWindow - 2 });
  expect(pieces[0]).not.toHaveProperty("instruction");
});

test("a split turn that does not fit is read in pieces, although the history fits", async () => {
  const notation = 'U"one" A | U"the long task" A:4000 A:4000 A(t1=edit:a.ts)"" T1:100';
  const requests = await asked(notation, { keep: 101, contextWindow: 6_000 });
  expect(requests.map(({ kind }) => kind).filter((kind) => kind === "history")).toHaveLength(1);
  expect(requests.map(({ kind }) => kind).filter((kind) => kind === "turnPrefix").length).toBeGreaterThan(1);
});

test("rules and headings are the same as in the request as text", async () => {
  const [request] = await asked(LONG, { focus: "the tests" });
  const shared = request!.prompt.user
    .split("\n\n")
    .filter((block) => /^(?:Be brief|## |The user wants)/.test(block));
  expect(shared.length).toBeGreaterThan(summarySections.history.length);
  for (const block of shared) expect(request?.instruction).toContain(block);
});

test("a split turn is named by both its ends; a call stands for an answer without words", async () => {
  const requests = await asked('U"one" A | U"the long task" A:4000 A(t1=edit:a.ts)"" T1:100', { keep: 101 });
  const prefix = requests.find(({ kind }) => kind === "turnPrefix");
  expect(prefix?.instruction).toContain('begins with the user\'s message "the long task"');
  expect(prefix?.instruction).toMatch(/right before your message "edit\(.*a\.ts/);
  const first = requests.find(({ kind }) => kind === "history");
  expect(first?.instruction).toContain('right before the user\'s message "the long task"');
});

test("with an earlier summary in the context, its notes are brought up to date", async () => {
  const [request] = await asked(`U:400 A:400 | U"kept" A C(u2) | ${LONG}`);
  expect(request?.previousSummary).toBeDefined();
  expect(request?.instruction).toContain("Update the notes in the record at the start of the conversation");
});

test("the instruction names the whole conversation if nothing is kept", async () => {
  const { session } = history("U:400 A:400");
  const summariser = scriptedSummariser();
  const settings = compactionSettings({}, { estimator: "chars4", manualKeep: "nothing" });
  await runCompaction({ session, settings, summariser });
  expect(summariser.requests[0]?.instruction).toContain("the whole conversation up to here");
});

test("a long first kept message is quoted by its beginning, on one line and in whole characters", async () => {
  const [request] = await asked(`U:4000 A:4000 | U"${"😀 so ".repeat(90)}" A:10`, { keep: 60 });
  expect(request?.instruction?.isWellFormed()).toBe(true);
  expect(request?.instruction).toMatch(/message "😀 so 😀 so .*…", message 2/);
});

test("the context is not sent again after an overflow, in pieces, or for a branch", async () => {
  const [afterOverflow] = await asked(LONG, { reason: "overflow" });
  expect(afterOverflow).not.toHaveProperty("instruction");
  const pieces = await asked("U:4000 A:4000 U:4000 | U:100 A:100", { contextWindow: 6_000 });
  expect(pieces.length).toBeGreaterThan(1);
  for (const piece of pieces) expect(piece).not.toHaveProperty("instruction");
  const { session, id } = history("U A:400 | U:400 A:400");
  const summariser = scriptedSummariser();
  await navigateTree({
    session,
    targetId: id("a1"),
    summarise: true,
    summariser,
    settings: compactionSettings({}),
  });
  expect(summariser.requests).toHaveLength(1);
  expect(summariser.requests[0]).not.toHaveProperty("instruction");
});
