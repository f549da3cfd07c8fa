import { afterEach, expect, test, vi } from "vitest";

afterEach(() => vi.restoreAllMocks());

/** Imports an example, which runs on import. Returns its printed lines and expects no errors. */
async function printed(file: string): Promise<string[]> {
  const lines: string[] = [];
  vi.spyOn(process, "argv", "get").mockReturnValue([process.execPath, file]);
  vi.spyOn(console, "log").mockImplementation((...values) => void lines.push(values.join(" ")));
  const complained = vi.spyOn(console, "error");
  // Another test may have imported the same module: a query imports it again.
  await import(/* @vite-ignore */ `../${file}?printed`);
  expect(complained).not.toHaveBeenCalled();
  return lines.flatMap((line) => line.split("\n"));
}

/** The sizes in `… 6632 tokens, now 4005`. */
function sizes(line: string): { before: number; now: number } {
  const [before, now] = line.match(/\d+(?= tokens|$|;)/g)!.map(Number);
  return { before: before!, now: now! };
}

test("01 branches, searches, and returns to its first leaf", async () => {
  expect(await printed("01-session-tree.ts")).toEqual([
    "* Which cache should we use?",
    "      Redis: it is there already.  [first try]",
    "      Then write the adapter.",
    "      Done, in src/redis-cache.ts.",
    "*     An in-memory cache: one process, no server to run.",
    "*     Better. How large may it grow?",
    "",
    "The model sees: user, assistant, user",
    '"adapter" was said in: Which cache should we use? / Redis: it is there already. / Then write the adapter.',
    'Reopened "Choosing a cache" at: Better. How large may it grow?',
    "The file has 10 lines.",
  ]);
});

test("02 runs beyond the context window and answers every question", async () => {
  const lines = await printed("02-openai-loop.ts");
  const answers = lines.filter((line) => line.startsWith("Page"));
  expect(answers.map((line) => line.split(",")[0])).toEqual(
    Array.from({ length: 14 }, (_, index) => `Page ${index + 1}`),
  );
  const compactions = lines.filter((line) => line.startsWith("  too long, compacted"));
  expect(compactions.length).toBeGreaterThanOrEqual(1);
  for (const line of compactions) expect(sizes(line).now).toBeLessThan(sizes(line).before);
});

test("03 runs beyond the context window with two tool results in a message", async () => {
  const lines = await printed("03-anthropic-loop.ts");
  expect(lines.filter((line) => line.startsWith("Open them slowly."))).toHaveLength(7);
  const compactions = lines.filter((line) => line.startsWith("  compacted"));
  expect(compactions.length).toBeGreaterThanOrEqual(1);
  for (const line of compactions) expect(sizes(line).now).toBeLessThan(sizes(line).before);
});

test("04 keeps every request word for word through two compactions", async () => {
  const lines = await printed("04-custom-summariser.ts");
  expect(lines[0]).toMatch(/^compacted by summarise: .*; 6 summarised$/);
  expect(lines[1]).toMatch(/^compacted by summarise: .*; 8 summarised$/);
  for (const line of lines.slice(0, 2)) expect(sizes(line).now).toBeLessThan(6_000);
  const weeks = [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2];
  expect(lines.filter((line) => line.startsWith("- "))).toEqual(
    weeks.map((week, index) => `- Week ${week}, day ${(index % 8) + 1}: mend test ${(index % 8) + 1}.`),
  );
});

test("05 leaves the file unchanged if a handler or a signal cancels", async () => {
  const [handler, first, signal, second, then] = await printed("05-cancelling.ts");
  expect(handler).toBe("handler: cancelled. Compaction cancelled. 10 messages are too many to summarise.");
  expect(signal).toBe("signal: cancelled. Compaction cancelled.");
  expect([first, second]).toEqual(["the file is as it was", "the file is as it was"]);
  expect(then).toMatch(/^then: compacted, \d+ tokens, now \d+$/);
});

test("06 cuts inside the turn, asks for both parts, and keeps the request", async () => {
  const lines = await printed("06-split-turn.ts");
  const parts = lines
    .map((line) => line.split(" ")[0])
    .filter((word) => /^(history|prefix|kept)$/.test(word!));
  expect(parts).toEqual([...Array(3).fill("history"), ...Array(19).fill("prefix"), ...Array(6).fill("kept")]);
  expect(lines.indexOf("------------- cut")).toBe(22);
  expect(lines.slice(-6)).toEqual([
    "asked for the history: 3 messages",
    "asked for the turnPrefix: 19 messages",
    expect.stringMatching(/^\d+ tokens, now \d+$/),
    "the rule of the first turn is kept: true",
    "the turn's part stands apart: true",
    "the request is carried over: true",
  ]);
});

test("07 summarises a branch's decision and leaves the branch in place", async () => {
  const lines = await printed("07-branch-summary.ts");
  expect(lines.slice(0, 3)).toEqual([
    "3 entries are left",
    "summary: branch_summary",
    "moved; the model sees:",
  ]);
  const roles = lines.map((line) => /^(user|assistant|branchSummary):/.exec(line)?.[1]).filter(Boolean);
  expect(roles).toEqual(["user", "assistant", "branchSummary", "user"]);
  expect(lines.join("\n")).toMatch(
    /^1\. \[\w{8}\] Try the cache first\. It must not serve prices older than five minutes\.$/m,
  );
  expect(lines.join("\n")).toMatch(
    /^1\. agent \[\w{8}\]: I decided on an LRU cache with 5,000 entries, in src\/price-cache\.ts\.$/m,
  );
  expect(lines.at(-1)).toBe("The branch that was left still has 5 entries.");
});

test("08 calls its tool for each day and compacts in between", async () => {
  const lines = await printed("08-agent-with-a-tool.ts");
  expect(lines.filter((line) => line.startsWith("read_sensor"))).toEqual(
    [1, 2, 3, 4, 5, 6, 7].map((day) => `read_sensor {"day":${day}}`),
  );
  expect(lines).toContain("done: It was warmest on day 3.");
  expect(lines.filter((line) => line.startsWith("failed"))).toEqual([]);
  const compactions = lines.filter((line) => line.startsWith("compacted"));
  expect(compactions.length).toBeGreaterThanOrEqual(1);
  for (const line of compactions) expect(sizes(line).now).toBeLessThan(sizes(line).before);
});

test("11 retries after a refusal and prints the answer", async () => {
  expect(await printed("11-own-provider.ts")).toEqual(["notice: retry", "Hello! Polly repeats. (16 tokens)"]);
});

test("12 reads a session back from its own store, which passes the suite", async () => {
  expect(await printed("12-own-store.ts")).toEqual([
    "1 entry in the cloud",
    expect.stringMatching(/^\d+ checks passed$/),
  ]);
});

test("13 keeps each request small and the user's rule in view", async () => {
  const lines = await printed("13-ai-sdk-agent.ts");
  const compactions = lines.filter((line) => line.startsWith("  compacted"));
  expect(compactions.length).toBeGreaterThan(1);
  const rows = lines
    .filter((line) => /^ +\d+ +\d+ +\d+$/.test(line))
    .map((line) => line.trim().split(/ +/).map(Number));
  expect(rows.at(-1)![1]).toBeGreaterThan(30_000);
  for (const [, , size] of rows) expect(size).toBeLessThan(14_000);
  expect(lines.at(-1)).toBe("Open them slowly.");
});

test("14 answers each question from a short context", async () => {
  const lines = await printed("14-chat-route.ts");
  expect(lines.some((line) => line.startsWith("  compacted"))).toBe(true);
  const turns = lines.filter((line) => line.includes("in the browser"));
  expect(turns).toHaveLength(16);
  expect(turns.at(-1)).toMatch(/^32 messages in the browser\. I see (?:\d|1\d) messages\.$/);
});

test("15 continues from its stored messages and state", async () => {
  const lines = await printed("15-background-job.ts");
  expect(lines.some((line) => line.startsWith("  compacted by the model"))).toBe(true);
  expect(lines.filter((line) => line.startsWith("file "))).toHaveLength(16);
});
