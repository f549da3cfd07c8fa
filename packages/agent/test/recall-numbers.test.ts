import { compactionSettings, mergeBranch, runCompaction } from "@bonsai-agent/compaction";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { eachWithHome, idsOf, recall, textOf } from "./recall-stage.ts";

eachWithHome();

const settings = compactionSettings({ keepRecentTokens: 200 });

async function compactedTwice() {
  const { session, id } = history(
    `U"Take port 8413." A"Port 8413 is set." | U"Now the login." A(t1=read:login.ts) Tt1:900 A"The login is done." | U:40 A:3000`,
  );
  await runCompaction({ session, settings });
  history(`U"And the logout?" A:3000 | U:40 A:3000`, session);
  await runCompaction({ session, settings });
  return { session, id };
}

test("a message number opens the message and the agent's answers", async () => {
  const { session, id } = await compactedTwice();
  const opened = await recall(session)({ entries: ["2"] });
  expect(textOf(opened)).toContain("Now the login.");
  expect(textOf(opened)).toContain("The login is done.");
  expect(textOf(opened)).not.toContain("8413");
  expect(idsOf(opened)).toContain(id("u2"));
});

test("a message after an earlier compaction keeps its number", async () => {
  const { session } = await compactedTwice();
  expect(textOf(await recall(session)({ entries: ["4"] }))).toContain("And the logout?");
});

test("finds a message outside the summary by its number", async () => {
  const rounds = Array.from({ length: 60 }, (_, at) => `U"Item ${at + 1} is number ${at * 37}." A:60`);
  const { session } = history(`${rounds.join(" | ")} | U:40 A:900`);
  const brief = compactionSettings({ keepRecentTokens: 200, words: { maxTokens: 120 } });
  const { summary = "" } = await runCompaction({ session, settings: brief });
  const missing = rounds.findIndex((_, at) => !summary.includes(`Item ${at + 1} is`)) + 1;
  expect(missing).toBeGreaterThan(0);
  expect(textOf(await recall(session)({ entries: [String(missing)] }))).toContain(`Item ${missing} is`);
});

test("a number that is too high, and the number of a visible message, cause an error that names the reason", async () => {
  const { session } = await compactedTwice();
  history("U:20 A:20", session);
  await expect(recall(session)({ entries: ["99"] })).rejects.toThrow("no entry or message 99");
  await expect(recall(session)({ entries: ["6"] })).rejects.toThrow("Message 6 is not hidden");
});

test("a number beside a merged branch never opens another message than the summary shows", async () => {
  const { session, id } = history(
    `U"Main one apple." A"ok1" | U"Branch two banana." A"okb2" | U"Branch three cherry." A"okb3" ^a1 U"Main two fig." A"ok4"`,
  );
  await mergeBranch({ session, branchId: id("a3"), settings });
  history(
    `U"Go on." A"ok5" | U"Main date." A"ok6" | U"Go on." A"ok7" | U"Main elder." A"ok8" | U:40 A:3000 | U:40 A:3000`,
    session,
  );
  const { summary = "" } = await runCompaction({ session, settings });
  const shown = [...summary.matchAll(/^(\d+)\. (?:agent: )?(Main \w+ ?\w*|ok\d)\.?$/gm)];
  expect(shown.length).toBeGreaterThan(3);
  for (const [line, number = "", text = ""] of shown)
    expect(textOf(await recall(session)({ entries: [number] })), line).toContain(text);
});
