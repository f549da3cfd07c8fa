import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { expect, test } from "vitest";
import { type LifecycleEvents, lifecycleEventRules } from "../src/lifecycle.ts";
import type { Skill } from "../src/resources/skills.ts";
import { agentSettings } from "../src/settings.ts";
import { agent, cwd, eachInProject, opened } from "./opened-agent.ts";
import { sentText } from "./scripted-agent.ts";

eachInProject();

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

test("instruction files are read again when they changed, and only then is the system prompt another one", async () => {
  const file = join(cwd, "AGENTS.md");
  writeFileSync(file, "Water the trees on Mondays.");
  mkdirSync(join(cwd, ".git"));
  const notices: string[] = [];
  const change = (text: string) => ({
    calls: [{ name: "write", arguments: { path: "AGENTS.md", content: text } }],
  });
  const asked = await opened(
    (_call, count) =>
      [change("Water them on Tuesdays."), { text: "a" }, { text: "b" }, { text: "c" }][count - 1]!,
    { onNotice: ({ code, message }) => notices.push(`${code}: ${message}`) },
  );
  await agent.prompt("Change the day.");
  await agent.prompt("And now?");
  rmSync(file);
  await agent.prompt("And without?");
  const prompts = asked.map(({ systemPrompt }) => systemPrompt);
  expect(prompts[0]).toContain("on Mondays");
  expect(prompts[1]).toBe(prompts[0]!.replace("the trees on Mondays", "them on Tuesdays"));
  expect(prompts[2]).toBe(prompts[1]);
  expect(prompts[3]).not.toContain("Tuesdays");
  expect(prompts[1]!.startsWith(prompts[3]!)).toBe(true);
  expect(notices).toEqual([
    `instructions_changed: Instructions changed: ${file} was read again.`,
    `instructions_changed: Instructions changed: ${file} was removed and no longer applies.`,
  ]);
});

test("instructions that come in the middle of a run hold from the next request, beside what an extension wrote", async () => {
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
    (_call, count) => [write("Prune in spring."), write("Prune in \0autumn."), { text: "done" }][count - 1]!,
    { lifecycle, onNotice: ({ code, message }) => code === "instructions_unread" && unread.push(message) },
  );
  await agent.prompt("Write them.");
  expect(asked[0]!.systemPrompt).toMatch(/Of mine\.$/);
  expect(asked[1]!.systemPrompt).toContain("Of mine.");
  expect(asked[1]!.systemPrompt).toContain("Prune in spring.");
  expect(asked[2]!.systemPrompt).toBe(asked[0]!.systemPrompt);
  expect(unread).toEqual([`Cannot read ${join(cwd, "AGENTS.md")}: it is not a text file.`]);
});

test("a file that a CLAUDE.md names is read again too, and one that it names from now on", async () => {
  mkdirSync(join(cwd, ".git"));
  writeFileSync(join(cwd, "CLAUDE.md"), "@style.md");
  writeFileSync(join(cwd, "style.md"), "Tabs.");
  const asked = await opened(() => ({ text: "done" }));
  for (const [file, text] of [
    ["style.md", "Spaces."],
    ["style.md", "Spaces. @more.md"],
    ["more.md", "And no semicolons."],
  ] as const) {
    await agent.prompt("Go.");
    writeFileSync(join(cwd, file), text);
    if (text.includes("@")) writeFileSync(join(cwd, "more.md"), "Semicolons.");
  }
  await agent.prompt("Go.");
  const has = (text: string) => asked.map(({ systemPrompt }) => systemPrompt.includes(text));
  expect(has("\nTabs.")).toEqual([true, false, false, false]);
  expect(has("\nSpaces.")).toEqual([false, true, true, true]);
  expect(has("\nSemicolons.")).toEqual([false, false, true, false]);
  expect(has("And no semicolons.")).toEqual([false, false, false, true]);
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

test("a file that a CLAUDE.md names holds from when it is there; until then the system prompt stays the same", async () => {
  writeFileSync(join(cwd, "CLAUDE.md"), "See @later.md");
  const asked = await opened(() => ({ text: "done" }));
  await agent.prompt("One.");
  await agent.prompt("Two.");
  writeFileSync(join(cwd, "later.md"), "Water the roses.");
  await agent.prompt("Three.");
  const prompts = asked.map(({ systemPrompt }) => JSON.stringify(systemPrompt));
  expect(prompts[1]).toBe(prompts[0]);
  expect(prompts[1]).not.toContain("Water the roses.");
  expect(prompts[2]).toContain("Water the roses.");
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
