import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type KeyFile, ModelClient, type ProviderCall } from "@bonsai-agent/models";
import { type ScenarioAnswer, scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession } from "@bonsai-agent/session";
import { afterEach, beforeEach } from "vitest";
import type { Agent } from "../src/agent.ts";
import { type OpenAgentOptions, openAgent } from "../src/open-agent.ts";
import { agentSettings } from "../src/settings.ts";
import { actor } from "./scripted-agent.ts";

/** The project of the running test. */
export let cwd: string;

/** The agent that `opened` made last; closed after the test. */
export let agent: Agent;

/** Gives each test of the calling file a project of its own. */
export function eachInProject(): void {
  beforeEach(() => {
    cwd = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-open-")));
  });
  afterEach(async () => {
    await agent.close();
    rmSync(cwd, { recursive: true });
  });
}

/** Opens an agent whose model plays these answers. Returns the requests that it gets. */
export async function opened(
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
