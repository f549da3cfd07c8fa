import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, agentSettings, openAgent } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import type { CatalogueModel, ProviderCall } from "@bonsai-agent/models";
import { createSession, type Session } from "@bonsai-agent/session";
import type { ExtensionHost, ExtensionModels } from "../run/extension-host.ts";
import type { Extensions } from "../run/extensions.ts";
import { loadExtensions } from "../run/load-extensions.ts";
import type { OpenTestSessionOptions } from "./open-test-session-options.ts";
import { scriptedModels } from "./scripted-models.ts";
import { type TestRecord, testHost } from "./test-host.ts";
import type { TestSession } from "./test-session.ts";
import { testSources } from "./test-sources.ts";

const usualModel: CatalogueModel = {
  provider: "scripted",
  id: "test",
  name: "Test",
  api: "scripted",
  baseUrl: "",
  input: ["text", "image"],
  reasoning: true,
  contextWindow: 100_000,
  maxOutputTokens: 8_000,
};

/**
 * Opens a session with extensions for a test of them: the agent, its tools and its events are the real ones, the model
 * and the user follow a script. No key, no network, nothing on disk but a temporary folder.
 */
export async function openTestSession(options: OpenTestSessionOptions = {}): Promise<TestSession> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-test-session-"));
  const { cwd = folder, otherModels = [] } = options;
  const model = { ...usualModel, ...options.model };
  const all = [model, ...otherModels.map((other) => ({ ...model, ...other }))];
  const requests: ProviderCall[] = [];
  const models = await scriptedModels({ home: folder, models: all, answers: answersOf(options), requests });
  const session = sessionOf(options, cwd);
  const record: TestRecord = { notices: [], ui: [], isShutdown: false };
  let agent: Agent | undefined;
  const host = testHost({ options, record, cwd, session, agent: () => agent, model, models });
  agent = options.withAgent === false ? undefined : await agentOf(host, { options, folder, model, models });
  const extensions = await loadExtensions({ host, ...testSources(options) });
  if (agent !== undefined) extensions.attach(agent);
  await (agent?.start() ??
    host.lifecycle.notify("session_start", { type: "session_start", reason: "startup" }));
  const close = async () => {
    await agent?.close();
    extensions.unload();
    session.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    get agent() {
      return agent ?? noAgent();
    },
    session,
    extensions,
    lifecycle: host.lifecycle,
    cwd,
    notices: record.notices,
    ui: record.ui,
    requests,
    get isShutdown() {
      return record.isShutdown;
    },
    prompt: async (text) => (agent ?? noAgent()).prompt(text, { source: "interactive" }),
    async command(text) {
      if (!(await extensions.runCommand(text))) throw unknownCommand(text, extensions);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface AgentParts {
  options: OpenTestSessionOptions;
  /** Stands in the place of Bonsai's home. */
  folder: string;
  model: CatalogueModel;
  models: ExtensionModels;
}

function agentOf(host: ExtensionHost, { options, folder, model, models }: AgentParts): Promise<Agent> {
  const { settings = {} } = options;
  return openAgent({
    session: host.session()!,
    cwd: host.cwd,
    home: folder,
    models: models.client,
    model,
    settings: agentSettings({
      titles: false,
      ...settings,
      compaction: { estimator: "chars4", ...settings.compaction },
    }),
    lifecycle: host.lifecycle,
    onNotice: (notice) => host.onNotice(notice),
  });
}

function answersOf({ answers, summaries, replies }: OpenTestSessionOptions) {
  return {
    ...(answers === undefined ? {} : { turn: answers }),
    ...(summaries === undefined ? {} : { summary: summaries }),
    ...(replies === undefined ? {} : { extension: replies }),
  };
}

function sessionOf({ session, history = [] }: OpenTestSessionOptions, cwd: string): Session {
  const open = session ?? createSession({ cwd });
  open.append(history.map((message) => ({ type: "message" as const, message })));
  return open;
}

function noAgent(): never {
  throw new BonsaiError({
    code: "extension_needs_agent",
    message: "The test session was opened without an agent.",
    hint: "Leave withAgent: false away.",
  });
}

function unknownCommand(text: string, { commands }: Extensions): BonsaiError {
  return new BonsaiError({
    code: "extension_command_unknown",
    message: `No extension has the command ${text}.`,
    hint: `There are: ${commands.map(({ name }) => `/${name}`).join(", ") || "none"}.`,
  });
}
