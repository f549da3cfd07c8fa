import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { KeyFile, ModelClient, type ProviderCall } from "@bonsai-agent/models";
import { type ScenarioAnswer, scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession } from "@bonsai-agent/session";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Agent } from "../src/agent.ts";
import { type LifecycleEvents, lifecycleEventRules } from "../src/lifecycle.ts";
import { type OpenAgentOptions, openAgent } from "../src/open-agent.ts";
import type { Skill } from "../src/resources/skills.ts";
import { agentSettings } from "../src/settings.ts";
import { actor, sentText } from "./scripted-agent.ts";

let cwd: string;
let agent: Agent;
beforeEach(() => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-open-")));
});
afterEach(async () => {
  await agent.close();
  rmSync(cwd, { recursive: true });
});

async function opened(
  play: (call: ProviderCall, count: number) => ScenarioAnswer,
  { keys, ...options }: Partial<OpenAgentOptions> & { keys?: KeyFile } = {},
) {
  const asked: ProviderCall[] = [];
  const provider = scriptedProvider((call) => {
    asked.push(call);
    return play(call, asked.length);
  });
  agent = await openAgent({
    session: createSession({ cwd }),
    cwd,
    home: join(cwd, "home"),
    settings: agentSettings(),
    models: new ModelClient({
      ...(keys === undefined ? {} : { keys }),
      providers: { scripted: async () => provider },
      retry: { maxRetries: 0 },
    }),
    model: actor,
    ...options,
  });
  return asked;
}

const names = ({ tools }: ProviderCall) => tools.map(({ name }) => name);
const builtin = ["read", "write", "edit", "bash", "grep", "find", "ls"];

test("the built-in tools work in the project, and the project's instructions are in the system prompt", async () => {
  writeFileSync(join(cwd, "AGENTS.md"), "Water the trees on Mondays.");
  const asked = await opened((_call, count) =>
    count === 1
      ? {
          calls: [
            { name: "write", arguments: { path: "leaf.txt", content: "green\n" } },
            { name: "bash", arguments: { command: "pwd" } },
          ],
        }
      : { text: "done" },
  );
  expect((await agent.prompt("Write a leaf.")).status).toBe("done");
  expect(readFileSync(join(cwd, "leaf.txt"), "utf8")).toBe("green\n");
  expect(sentText(asked[1]!)).toContain(cwd);
  expect(names(asked[0]!)).toEqual([...builtin, "task"]);
  expect(asked[0]!.systemPrompt).toContain("Water the trees on Mondays.");
  expect(asked[1]!.systemPrompt).toBe(asked[0]!.systemPrompt);
});

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

test("a sub-agent has a context and tools of its own, without sub-agents, and its answer is the result", async () => {
  const asked = await opened((call) => {
    if (!names(call).includes("task")) return { text: "There are 7 leaves." };
    return call.messages.length > 1
      ? { text: "Seven." }
      : {
          calls: [
            { name: "task", arguments: { description: "Count the leaves", prompt: "Count every leaf." } },
          ],
        };
  });
  expect((await agent.prompt("How many leaves?")).status).toBe("done");
  const [first, sub, last] = asked;
  expect(asked).toHaveLength(3);
  expect(names(sub!)).toEqual(builtin);
  expect(sentText(sub!)).toContain("Count every leaf.");
  expect(sentText(sub!)).not.toContain("How many leaves?");
  expect(sentText(last!)).toContain("There are 7 leaves.");
  expect(names(first!)).toContain("task");
});

test("a handler of the parent's requests also gets those of its sub-agents", async () => {
  const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules });
  const seen = { context: 0, before_provider_request: 0, after_provider_response: 0 };
  for (const name of Object.keys(seen) as (keyof typeof seen)[])
    lifecycle.on(name, () => {
      seen[name] += 1;
    });
  const task = { name: "task", arguments: { description: "Count", prompt: "Count every leaf." } };
  await opened(
    (call) =>
      names(call).includes("task") && call.messages.length === 1 ? { calls: [task] } : { text: "Seven." },
    { lifecycle },
  );
  await agent.prompt("How many leaves?");
  expect(seen).toEqual({ context: 3, before_provider_request: 3, after_provider_response: 3 });
});

test("a sub-agent has its parent's model, thinking and tools as they are by then", async () => {
  const asked = await opened((call) => {
    if (!names(call).includes("task")) return { text: "There are 7 leaves." };
    return call.messages.length > 1
      ? { text: "Seven." }
      : { calls: [{ name: "task", arguments: { description: "Count", prompt: "Count every leaf." } }] };
  });
  await agent.setModel({ ...actor, id: "another", reasoning: true });
  await agent.setThinking("high");
  agent.tools.register({
    name: "count",
    description: "Counts.",
    parameters: { type: "object" },
    execute: async () => ({ content: [] }),
  });
  agent.tools.setActive(["read", "task", "count"]);
  await agent.prompt("How many leaves?");
  expect(asked[1]).toMatchObject({ model: { id: "another" }, thinking: "high" });
  expect(names(asked[1]!)).toEqual(["read", "count"]);
});

test("the setting tools offers some of them, and a name that no tool has is notified", async () => {
  const notices: string[] = [];
  const asked = await opened(() => ({ text: "done" }), {
    settings: agentSettings({ tools: ["read", "raed"] }),
    onNotice: ({ message }) => notices.push(message),
  });
  await agent.prompt("go");
  expect(names(asked[0]!)).toEqual(["read"]);
  expect(notices).toEqual([
    expect.stringMatching(/^--tools or the setting tools lists unknown tools: raed\./),
  ]);
});

test("a tool of one's own takes the place of a built-in one", async () => {
  const asked = await opened(
    (call) => (call.messages.length > 1 ? { text: "done" } : { calls: [{ name: "ls" }] }),
    {
      tools: [
        {
          name: "ls",
          description: "Nothing here.",
          parameters: { type: "object" },
          execute: async () => ({ content: [{ type: "text", text: "an own list" }] }),
        },
      ],
    },
  );
  await agent.prompt("go");
  expect(names(asked[0]!)).toEqual([...builtin, "task"]);
  expect(sentText(asked[1]!)).toContain("an own list");
});

test("a command of the user's is run, stored, and in the context; with !! it is kept out", async () => {
  const asked = await opened(() => ({ text: "done" }));
  const shown = await agent.runUserCommand("echo visible");
  expect(shown).toMatchObject({
    role: "bashExecution",
    output: expect.stringContaining("visible"),
    exitCode: 0,
  });
  await agent.runUserCommand("echo hidden; exit 3", { excludeFromContext: true });
  await agent.prompt("go");
  const sent = JSON.stringify(asked[0]!.messages);
  expect(sent).toContain("visible");
  expect(sent).not.toContain("hidden");
  const stored = agent.session.path().flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  expect(stored[1]).toMatchObject({ command: "echo hidden; exit 3", exitCode: 3, excludeFromContext: true });
});

test("an abort stops a command of the user's", async () => {
  await opened(() => ({ text: "done" }));
  const started = Promise.withResolvers<void>();
  const running = agent.runUserCommand("echo started; sleep 600", { onOutput: () => started.resolve() });
  await started.promise;
  await expect(agent.runUserCommand("true")).rejects.toMatchObject({ code: "agent_busy" });
  await agent.abort();
  expect(await running).toMatchObject({ cancelled: true });
  expect(agent.isBusy).toBe(false);
});

test("instructions that cannot be read are notified, with their path once", async () => {
  writeFileSync(join(cwd, "AGENTS.md"), "\0");
  const notices: string[] = [];
  await opened(() => ({ text: "" }), { onNotice: ({ message }) => notices.push(message) });
  expect(notices).toEqual([`Cannot read ${join(cwd, "AGENTS.md")}: it is not a text file.`]);
});

test("no tool and no command of the user shows a stored key, also one that was stored a moment ago", async () => {
  const home = join(cwd, "home");
  mkdirSync(home);
  const [api, access, header, given, lent, fresh] = ["api", "oauth", "head", "model", "lent", "new"].map(
    (name) => `${name}-0123456789/abcdef+g==`,
  ) as [string, string, string, string, string, string];
  const address = "https://git.example.com";
  const entries = {
    one: { type: "api_key", key: api },
    two: { type: "oauth", access, expires: 1, enterpriseUrl: address },
  };
  writeFileSync(join(home, "auth.json"), JSON.stringify(entries));
  const provider = { headers: { Authorization: `Bearer ${header}` }, apiKey: given };
  writeFileSync(join(home, "models.json"), JSON.stringify({ providers: { mine: provider } }));
  writeFileSync(join(cwd, "notes.txt"), `${lent} ${fresh}\n`);
  const keys = new KeyFile({ home, env: {} });
  keys.lend("three", lent);
  const calls = [
    { name: "bash", arguments: { command: "cat home/*.json notes.txt" } },
    { name: "read", arguments: { path: "home/auth.json" } },
    { name: "grep", arguments: { pattern: "Bearer", path: "home" } },
    { name: "edit", arguments: { path: "notes.txt", edits: [{ oldText: "\n", newText: "\nmore\n" }] } },
  ];
  await opened(
    (_call, count) => {
      if (count > 1) return { text: "done" };
      keys.store("four", fresh);
      return { calls };
    },
    { keys },
  );
  await agent.prompt("Show all.");
  const { output } = await agent.runUserCommand("cat notes.txt home/auth.json");
  const stored = JSON.stringify(agent.session.entries());
  for (const key of [api, access, header, given, lent, fresh])
    expect(`${stored}${output}`).not.toContain(key);
  expect(stored).toContain("[key of one]");
  expect(stored).toContain("Bearer [key of models.json]");
  expect(output).toContain("[key of three] [key of four]");
  expect(output).toContain(address);
});
