import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contentText } from "@bonsai-agent/messages";
import { ModelClient, type ProviderCall } from "@bonsai-agent/models";
import { type ScenarioAnswer, scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession } from "@bonsai-agent/session";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type OpenAgentOptions, openAgent } from "../src/open-agent.ts";
import { type AgentSettingsInput, agentSettings } from "../src/settings.ts";
import { actor } from "./scripted-agent.ts";

let folder: string;
let cwd: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-settings-")));
  cwd = join(folder, "project");
  mkdirSync(cwd);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** One prompt under these settings, in which the model makes these calls; and what came of it. */
async function promptUnder(
  settings: AgentSettingsInput,
  {
    calls = [],
    ...options
  }: Partial<OpenAgentOptions> & { calls?: NonNullable<ScenarioAnswer["calls"]> } = {},
) {
  const asked: ProviderCall[] = [];
  const provider = scriptedProvider((call) => {
    asked.push(call);
    const isFirst = asked.length === 1 && calls.length > 0;
    return isFirst ? { calls } : { text: call.purpose === "title" ? "A name" : "done" };
  });
  const session = createSession({ cwd });
  const agent = await openAgent({
    session,
    cwd,
    home: join(folder, "home"),
    settings: agentSettings(settings),
    models: new ModelClient({ providers: { scripted: async () => provider }, retry: { maxRetries: 0 } }),
    model: { ...actor, reasoning: true },
    ...options,
  });
  await agent.prompt("Count the leaves.");
  await agent.close();
  const results = session
    .projection()
    .items.flatMap(({ message }) => (message.role === "toolResult" ? [contentText(message.content)] : []));
  return { asked, session, results };
}

test("thinking is asked for, under the session's name for the cache", async () => {
  for (const thinking of ["off", "high"] as const) {
    const { asked, session } = await promptUnder({ thinking });
    expect(asked[0]).toMatchObject({ thinking, cacheKey: session.id });
  }
});

test("tools: who calls one that is not offered learns which are", async () => {
  const calls = [{ name: "ls" }];
  const { results } = await promptUnder({ tools: ["read"] }, { calls });
  expect(results).toEqual(["Unknown tool ls. Available tools: read."]);
  expect((await promptUnder({}, { calls })).results[0]).not.toContain("Unknown tool");
});

test("paths.allow lets the file tools touch a folder beyond the project", async () => {
  const other = join(folder, "other");
  mkdirSync(other);
  writeFileSync(join(other, "leaf.txt"), "green");
  const calls = [{ name: "read", arguments: { path: join(other, "leaf.txt") } }];
  expect((await promptUnder({}, { calls })).results[0]).not.toContain("green");
  expect((await promptUnder({ paths: { allow: [other] } }, { calls })).results[0]).toContain("green");
});

test("bash.timeoutSeconds ends a command whose call does not say", async () => {
  const calls = [{ name: "bash", arguments: { command: "sleep 600" } }];
  const { results } = await promptUnder({ bash: { timeoutSeconds: 1 } }, { calls });
  expect(results[0]).toMatch(/1 s/);
});

test("titles: the session gets a name, or none; smallModel is asked for it", async () => {
  expect((await promptUnder({})).session.name).toBe("Count the leaves");
  expect((await promptUnder({ titles: false })).session.name).toBeUndefined();
  const { asked } = await promptUnder({}, { smallModel: { ...actor, id: "small" } });
  expect(asked.map(({ purpose, model }) => `${purpose} ${model.id}`)).toContain("title small");
});

test("instructionFiles: the first that exists is read", async () => {
  writeFileSync(join(cwd, "AGENTS.md"), "Water on Mondays.");
  writeFileSync(join(cwd, "TREES.md"), "Prune on Tuesdays.");
  const { asked } = await promptUnder({ instructionFiles: ["TREES.md", "AGENTS.md"] });
  expect(asked[0]?.systemPrompt).toContain("Prune on Tuesdays.");
  expect(asked[0]?.systemPrompt).not.toContain("Water on Mondays.");
});
