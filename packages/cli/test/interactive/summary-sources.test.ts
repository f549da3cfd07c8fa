import {
  compactionSettings,
  digestSummariser,
  runCompaction,
  type Summariser,
} from "@bonsai-agent/compaction";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { createSession, openSession } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { sampleLines, testFolder, writeLines } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";
import { longStory } from "./long-story.ts";

const settings = compactionSettings(
  { keepRecentTokens: 200, mask: { enabled: false } },
  { estimator: "chars4" },
);

const digest = digestSummariser();
/** A digest with a sentence that stands in no message, so that only its terms lead to entries. */
const summariser: Summariser = {
  ...digest,
  async summarise(request) {
    const answer = await digest.summarise(request);
    return { ...answer, text: `${answer.text}\n\nBoth parts need src/parser.ts and src/printer.ts.` };
  },
};

/** A session that was compacted twice. */
async function compactedFile(): Promise<string> {
  const file = `${testFolder()}/compacted.jsonl`;
  const session = createSession({ cwd: "/project", file });
  const work = (name: string) =>
    `U"Port the ${name}." A(r${name}=read:src/${name}.ts) Tr${name} A(e${name}=edit:src/shared.ts) Te${name} A"The ${name} is ported."`;
  for (const name of ["parser", "printer"]) {
    history(`${work(name)} | U:3000 A:3000 | U"Go on with the next." A:150`, session);
    const result = await runCompaction({ session, settings, summariser });
    expect(result.status).toBe("compacted");
  }
  session.close();
  return file;
}

/** What is beside the first line with an entry. */
const READ = /^ › .* assistant [0-9a-f]{8}$/m;

async function openAt(file: string, columns = 90) {
  const opened = openInteractive({ columns, rows: 40, argv: ["--session", file] });
  await opened.terminal.until("[compaction]");
  return opened;
}

test("while the agent works, lines are walked and entries seen; going there has to wait", async () => {
  const file = await compactedFile();
  const scenario: Scenario = { contextWindow: 100_000, turn: [longStory], atEnd: "repeat" };
  const { terminal } = openInteractive({ columns: 90, rows: 40, scenario, argv: ["--session", file] });
  await terminal.until("[compaction]");
  terminal.type("Tell me a story\n");
  await terminal.until("Begun word");
  terminal.type("/sources\n");
  await terminal.until(READ);
  terminal.press("enter");
  await terminal.until("Session tree");
  terminal.press("enter");
  await terminal.until(/Going to another entry has to wait for the agent\. Press Esc to stop/);
  expect(terminal.screen()).not.toContain("Session tree");
});

test("the key of the unfolded summary walks its lines, and Enter opens the entry in the tree", async () => {
  const { terminal } = await openAt(await compactedFile());
  terminal.press("ctrl+o");
  await terminal.until("Ctrl-S: sources of each line");
  terminal.press("ctrl+s");
  await terminal.until(": sources of each line\n › ");
  await terminal.until(READ);
  terminal.type("Port the parser");
  await terminal.until(/› 1\. Port the parser/);
  terminal.press("enter");
  await terminal.until("Session tree");
  expect(terminal.screen()).toMatch(/^› .*user +Port the parser/m);
  terminal.press("esc");
  await terminal.until(": sources of each line\n › ");
  terminal.press("esc");
  await terminal.until((screen) => !screen.includes("type to search"));
});

test("the user chooses one of several sources, and going there leaves the list", async () => {
  const file = await compactedFile();
  const { terminal } = await openAt(file);
  terminal.type("/sources\n");
  await terminal.until(READ);
  terminal.type("Both parts");
  await terminal.until(/≈ \d entries/);
  terminal.press("enter");
  await terminal.until("Sources of: Both parts need src/parser.ts and src/printer.ts.");
  terminal.press("enter");
  await terminal.until("Session tree");
  expect(terminal.screen()).toMatch(/^› .*read src\/parser\.ts/m);
  terminal.press("enter");
  await terminal.until(/no summary/i);
  terminal.press("enter");
  await terminal.until((screen) => !screen.includes("type to search"));
  const session = openSession(file);
  const at = session.path().findLast(({ type }) => type === "message");
  expect(JSON.stringify(at)).toContain("src/parser.ts");
});

test("Tab shows the previous summary; a line without entries opens nothing", async () => {
  const { terminal } = await openAt(await compactedFile());
  terminal.type("/sources\n");
  await terminal.until(", 1 of 2:");
  await terminal.until(READ);
  expect(terminal.screen()).toContain("The printer is ported.");
  terminal.press("tab");
  await terminal.until(", 2 of 2:");
  await terminal.until(READ);
  expect(terminal.screen()).not.toContain("The printer is ported.");
  terminal.type("User messages");
  await terminal.until("› User messages");
  terminal.press("enter");
  await terminal.until("This line has no known source.");
});

test("lines with a likely source are marked, also in few columns", async () => {
  const { terminal } = await openAt(await compactedFile(), 60);
  terminal.type("/sources\n");
  await terminal.until("≈ marks a likely source: an entry with the same words");
  terminal.type("Both parts");
  await terminal.until(/Both parts .+≈ \d entries/);
});

test("the summary of another program has no sources", async () => {
  const { terminal } = await openAt(writeLines(sampleLines()), 60);
  terminal.type("/sources\n");
  await terminal.until("› Goal");
  expect(terminal.screen()).toContain("Make the totals right.");
  expect(terminal.screen()).not.toContain("≈");
});

test("a session without a summary has no sources", async () => {
  const { terminal } = openInteractive({ columns: 80, rows: 30 });
  await terminal.until("scripted");
  terminal.type("/sources\n");
  await terminal.until("This branch has no summary yet.");
});
