import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { KeyFile, type ProviderCall } from "@bonsai-agent/models";
import { expect, test } from "vitest";
import { type LifecycleEvents, lifecycleEventRules } from "../src/lifecycle.ts";
import { agentSettings } from "../src/settings.ts";
import { agent, cwd, eachInProject, opened } from "./opened-agent.ts";
import { actor, sentText } from "./scripted-agent.ts";

eachInProject();

const names = ({ tools }: ProviderCall) => tools.map(({ name }) => name);

const all = ["bash", "context", "edit", "find", "grep", "ls", "read", "recall", "task", "write"];

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
  expect(names(asked[0]!)).toEqual(all);
  expect(asked[0]!.systemPrompt).toContain("Water the trees on Mondays.");
  expect(asked[1]!.systemPrompt).toBe(asked[0]!.systemPrompt);
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
  expect(names(sub!)).toEqual(all.filter((name) => name !== "task" && name !== "context"));
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
  expect(names(asked[1]!)).toEqual(["count", "read"]);
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
  expect(names(asked[0]!)).toEqual(all);
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
