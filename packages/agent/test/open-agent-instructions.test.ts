import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import type { ProviderCall } from "@bonsai-agent/models";
import { expect, test } from "vitest";
import { type LifecycleEvents, lifecycleEventRules } from "../src/lifecycle.ts";
import type { Skill } from "../src/resources/skills.ts";
import { agentSettings } from "../src/settings.ts";
import { agent, cwd, eachInProject, opened } from "./opened-agent.ts";
import { filler, sentText } from "./scripted-agent.ts";

eachInProject();

/** The texts of the notes on changed instructions in a request. */
const notesIn = ({ messages }: ProviderCall) =>
  messages.flatMap((message) =>
    message.role === "custom" && message.customType === "bonsai.instructions" ? [message.content] : [],
  );

test("instruction files beyond the project can be read to their end, and nothing beside them", async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-home-")));
  writeFileSync(join(home, "RULES.md"), `${"Prune in spring.\n".repeat(3_000)}The end.`);
  writeFileSync(join(home, "auth.json"), "secret");
  const calls = ["RULES.md", "auth.json"].map((name) => ({
    name: "read",
    arguments: { path: join(home, name), offset: name === "RULES.md" ? 3_001 : 1 },
  }));
  const asked = await opened((_call, count) => (count === 1 ? { calls } : { text: "done" }), {
    home,
    settings: agentSettings({ instructionFiles: ["RULES.md"] }),
  });
  await agent.prompt("Read the rest.");
  expect(sentText(asked[1]!)).toContain("The end.");
  expect(sentText(asked[1]!)).toContain("auth.json is outside the project");
  rmSync(home, { recursive: true });
});

test("changed instruction files follow the messages until a compaction puts them into the system prompt", async () => {
  const file = join(cwd, "AGENTS.md");
  writeFileSync(file, "Water the trees on Mondays.");
  mkdirSync(join(cwd, ".git"));
  const notices: string[] = [];
  const change = (text: string) => ({
    calls: [{ name: "write", arguments: { path: "AGENTS.md", content: text } }],
  });
  const asked = await opened(
    (call, count) =>
      call.purpose === "turn" && count === 1 ? change("Water them on Tuesdays.") : { text: "ok" },
    { onNotice: ({ code, message }) => notices.push(`${code}: ${message}`) },
  );
  await agent.prompt("Change the day.");
  await agent.prompt("And now?");
  rmSync(file);
  await agent.prompt("And without?");
  expect(new Set(asked.map(({ systemPrompt }) => systemPrompt)).size).toBe(1);
  expect(notesIn(asked[0]!)).toEqual([]);
  const changed = `<instructions path=${JSON.stringify(file)}>\nWater them on Tuesdays.\n</instructions>`;
  expect(notesIn(asked[1]!)).toEqual([changed]);
  expect(notesIn(asked[2]!)).toEqual([changed]);
  expect(notesIn(asked[3]!)).toEqual([changed, `${file} no longer applies.`]);
  expect(notices).toEqual([
    `instructions_changed: Instructions changed: ${file} was read again.`,
    `instructions_changed: Instructions changed: ${file} was removed and no longer applies.`,
  ]);
  await agent.compact({ useDigest: true, firstKeptEntryId: agent.session.leafId! });
  await agent.prompt("After the compaction?");
  expect(asked[4]!.systemPrompt).not.toContain("Mondays");
  expect(notesIn(asked[4]!)).toEqual([]);
});

test("a compaction in the middle of a run keeps the changes of an extension around changed instructions", async () => {
  mkdirSync(join(cwd, ".git"));
  const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules });
  lifecycle.on("before_agent_start", async ({ systemPrompt }) => ({
    systemPrompt: `${systemPrompt}\n\nOf mine.`,
  }));
  const unread: string[] = [];
  const write = (content: string) => ({
    calls: [{ name: "write", arguments: { path: "AGENTS.md", content } }],
  });
  const asked = await opened(
    (_call, count) =>
      [{ text: filler(3_000) }, write("Prune in spring."), write("Prune in \0autumn."), { text: "done" }][
        count - 1
      ]!,
    { lifecycle, onNotice: ({ code, message }) => code === "instructions_unread" && unread.push(message) },
  );
  await agent.prompt("Hello.");
  lifecycle.on("turn_end", async ({ turnIndex, messageEntryId }) => {
    if (turnIndex === 0) void agent.requestCompaction({ useDigest: true, firstKeptEntryId: messageEntryId });
  });
  await agent.prompt("Write them.");
  expect(asked[1]!.systemPrompt).toMatch(/Of mine\.$/);
  expect(asked[2]!.systemPrompt).toContain("Of mine.");
  expect(asked[2]!.systemPrompt).toContain("Prune in spring.");
  expect(asked[3]!.systemPrompt).toBe(asked[2]!.systemPrompt);
  expect(notesIn(asked[3]!)).toEqual([`${join(cwd, "AGENTS.md")} no longer applies.`]);
  expect(unread).toEqual([`Cannot read ${join(cwd, "AGENTS.md")}: it is not a text file.`]);
});

test("a note has a changed file that a CLAUDE.md names, and a file that it names from now on", async () => {
  mkdirSync(join(cwd, ".git"));
  writeFileSync(join(cwd, "CLAUDE.md"), "@style.md @later.md");
  writeFileSync(join(cwd, "style.md"), "Tabs.");
  const asked = await opened(() => ({ text: "done" }));
  for (const [file, text] of [
    ["style.md", "Spaces."],
    ["later.md", "Semicolons."],
    ["later.md", "No semicolons."],
  ] as const) {
    await agent.prompt("Go.");
    writeFileSync(join(cwd, file), text);
  }
  await agent.prompt("Go.");
  const notes = notesIn(asked[3]!).map((text) => String(text).split("\n")[1]);
  expect(asked.map((call) => notesIn(call).length)).toEqual([0, 1, 2, 3]);
  expect(notes).toEqual(["Spaces.", "Semicolons.", "No semicolons."]);
});

const pdf = (base: string): Skill => ({
  name: "pdf",
  description: "Reads PDFs.",
  path: join(base, "pdf", "SKILL.md"),
  folder: join(base, "pdf"),
  isForModel: true,
  isForUser: true,
  readable: join(base, "pdf"),
  place: { path: base, origin: "user" },
});

test("a skill is named to the model, which reads its folder without asking, and nothing beside it", async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-skills-")));
  mkdirSync(join(base, "pdf"));
  writeFileSync(join(base, "pdf", "SKILL.md"), "Read every page.");
  writeFileSync(join(base, "secret"), "secret");
  let skills = [pdf(base)];
  const read = (name: string) => ({ name: "read", arguments: { path: join(base, name) } });
  const asked = await opened(
    (_call, count) =>
      count % 2 === 1 ? { calls: [read("pdf/SKILL.md"), read("secret")] } : { text: "done" },
    { skills: () => skills },
  );
  await agent.prompt("Read report.pdf.");
  expect(asked[0]!.systemPrompt).toContain(`- pdf: Reads PDFs. (${join(base, "pdf", "SKILL.md")})`);
  expect(asked[1]!.systemPrompt).toBe(asked[0]!.systemPrompt);
  expect(sentText(asked[1]!)).toContain("Read every page.");
  expect(sentText(asked[1]!)).toContain("secret is outside the project");
  // Gone at a reload: neither named nor readable any more.
  skills = [];
  await agent.prompt("Again.");
  expect(asked[2]!.systemPrompt).not.toContain("Reads PDFs.");
  expect(sentText(asked[3]!)).toContain("SKILL.md is outside the project");
  rmSync(base, { recursive: true });
});

test("the summary lists a skill that was read, and the agent reads it again", async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-skills-")));
  mkdirSync(join(base, "pdf"));
  const file = join(base, "pdf", "SKILL.md");
  writeFileSync(file, `Read every page twice.\n${"Then the next one.\n".repeat(1_500)}`);
  const read = { calls: [{ name: "read", arguments: { path: file } }] };
  const asked = await opened(
    ({ messages }, count) => {
      if (count === 1) return read;
      const [summary] = messages.filter(({ role }) => role === "compactionSummary");
      const isNamed = summary !== undefined && sentText({ messages: [summary] } as never).includes(file);
      return isNamed && messages.at(-1)?.role === "user" ? read : { text: "done ".repeat(200) };
    },
    { skills: [pdf(base)], settings: agentSettings({ compaction: { keepRecentTokens: 100 } }) },
  );
  await agent.prompt("Read report.pdf.");
  expect((await agent.compact()).status).toBe("compacted");
  await agent.prompt("Go on.");
  const before = sentText(asked.at(-2)!);
  expect(before).toContain(`<read-files>\n${file}\n</read-files>`);
  expect(before).not.toContain("Read every page twice.");
  expect(sentText(asked.at(-1)!)).toContain("Read every page twice.");
  rmSync(base, { recursive: true });
});

test("instructions that cannot be read are notified, with their path once", async () => {
  writeFileSync(join(cwd, "AGENTS.md"), "\0");
  const notices: string[] = [];
  await opened(() => ({ text: "" }), { onNotice: ({ message }) => notices.push(message) });
  expect(notices).toEqual([`Cannot read ${join(cwd, "AGENTS.md")}: it is not a text file.`]);
});
