import { compactionSettings, digestSummariser, runCompaction } from "@bonsai-agent/compaction";
import { createSession, openSession } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { testFolder } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";

const settings = compactionSettings(
  { keepRecentTokens: 200, mask: { enabled: false } },
  { estimator: "chars4" },
);

/** A compacted session; beside its path a branch that was left, and a masked result in what is kept. */
async function compactedFile(): Promise<string> {
  const file = `${testFolder()}/compacted.jsonl`;
  const session = createSession({ cwd: "/project", file });
  const { id } = history(`U"Begin with the zebra." A:200 | U"Zebra crossing on a branch." A:100`, session);
  session.moveTo(id("a1"));
  const log = Array.from({ length: 40 }, (_, at) => `line ${at}${at === 30 ? " zebra 8413" : ""}`).join("\n");
  history(`U:900 A(t1) T1"${log}" A:900 | U"Show it." A(t2) T2"masked giraffe" M(t2) A:150`, session);
  const result = await runCompaction({ session, settings, summariser: digestSummariser() });
  expect(result.status).toBe("compacted");
  session.close();
  return file;
}

async function openRecall(text: string, columns = 90) {
  const file = await compactedFile();
  const opened = openInteractive({ columns, rows: 40, argv: ["--session", file] });
  await opened.terminal.until("[compaction]");
  opened.terminal.type(`/recall ${text}\n`);
  await opened.terminal.until("Recall: entries the model");
  return { ...opened, file };
}

test("/recall lists hidden entries with the reason, and Enter opens one in the tree", async () => {
  const { terminal } = await openRecall("zebra");
  await terminal.until(/ 1\/2$/m);
  expect(terminal.screen()).toMatch(/, summarised$/m);
  expect(terminal.screen()).not.toContain("Zebra crossing");
  terminal.type(" 8413");
  await terminal.until(/^ › line 30 zebra 8413 +result of read/m);
  expect(terminal.screen()).toContain(" line 29\n line 30 zebra 8413\n line 31");
  terminal.press("enter");
  await terminal.until("Session tree");
  expect(terminal.screen()).toMatch(/^› .*result .*line 0 line 1/m);
  terminal.press("esc");
  await terminal.until("Recall: entries");
  terminal.press("esc");
  await terminal.until((screen) => !screen.includes("Recall: entries"));
});

test("Tab searches all branches", async () => {
  const { terminal, file } = await openRecall("crossing");
  await terminal.until("No hidden entry of this branch matches");
  terminal.press("tab");
  await terminal.until("on all branches");
  await terminal.until("Zebra crossing on a branch.");
  expect(terminal.screen()).toContain("on another branch");
  terminal.press("enter");
  await terminal.until("Session tree");
  terminal.press("enter");
  await terminal.until(/no summary/i);
  terminal.press("enter");
  await terminal.until((screen) => !screen.includes("Recall: entries") && screen.includes("Zebra crossing"));
  expect(openSession(file).leafId).not.toBeNull();
});

test("a masked result is found; a key puts all of its text into the editor", async () => {
  const { terminal } = await openRecall("giraffe");
  await terminal.until(/, masked$/m);
  terminal.press("ctrl+t");
  await terminal.until((screen) => !screen.includes("Recall: entries") && screen.includes("masked giraffe"));
});

test("/recall asks for a missing text, and reports a missing match", async () => {
  const { terminal } = await openRecall("", 60);
  await terminal.until("Type to search.");
  terminal.type("unicorn");
  await terminal.until("No hidden entry of this branch matches");
});

test("a session that has no entry yet hides nothing", async () => {
  const { terminal } = openInteractive({ columns: 80, rows: 30 });
  await terminal.until("scripted");
  terminal.type("/recall zebra\n");
  await terminal.until("No hidden entry of this branch matches");
});
