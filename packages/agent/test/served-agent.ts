import { type CatalogueModel, ModelClient } from "@bonsai-agent/models";
import { createSession, type Session } from "@bonsai-agent/session";
import {
  type CompactionServer,
  type CompactionServerOptions,
  compactionServer,
  type LoopbackRequest,
  type WireAnswer,
} from "@bonsai-agent/testkit";
import { onTestFinished } from "vitest";
import { Agent } from "../src/agent.ts";
import type { AgentNotice } from "../src/notice.ts";
import { agentSettings } from "../src/settings.ts";
import { actor, echo, filler, summary } from "./scripted-agent.ts";

/** The vendors' models, and one of a local server without compaction of its own. */
export type ServedModels = Record<"claude" | "otherClaude" | "gpt" | "local", CatalogueModel>;

export interface ServedAgent {
  agent: Agent;
  session: Session;
  server: CompactionServer;
  models: ServedModels;
  notices: AgentNotice[];
  /** Sends a prompt. The model answers "Explain …" with 3,000 tokens. */
  say(text: string): Promise<void>;
}

export interface ServedAgentOptions extends CompactionServerOptions {
  session?: Session;
  /** The server of an earlier agent. Default: a new one. */
  served?: CompactionServer;
  settings?: Record<string, unknown>;
}

/** An agent whose models are asked over the wire. Its settings ask for the provider's compaction. */
export async function servedAgent(options: ServedAgentOptions = {}): Promise<ServedAgent> {
  const { served, session = createSession({ cwd: "/project" }), settings } = options;
  const server = served ?? (await compactionServer({ answer: usualAnswer, ...options }));
  if (served === undefined) onTestFinished(() => server.close());
  const models = modelsAt(server.url);
  const notices: AgentNotice[] = [];
  const agent = new Agent({
    session,
    models: new ModelClient({ keys: { key: () => "k" }, sleep: async () => {} }),
    model: models.claude,
    systemPrompt: "You are a test.",
    tools: [echo],
    onNotice: (notice) => notices.push(notice),
    settings: agentSettings({
      titles: false,
      compaction: {
        ...{ keepRecentTokens: 500, mask: { enabled: false }, summarizer: { kind: "provider" } },
        ...settings,
      },
    }),
  });
  const say = async (text: string) => {
    await agent.prompt(text);
  };
  return { agent, session, server, models, notices, say };
}

/** Answers a request for a summary as text with all its headings. */
export function usualAnswer({ body }: LoopbackRequest): WireAnswer {
  const sent = JSON.stringify(body);
  if (sent.includes("hand-over notes")) return { text: summary.text! };
  const { messages, input = messages } = body as { messages?: unknown[]; input?: unknown[] };
  return { text: JSON.stringify(input?.at(-1)).includes("Explain") ? filler(3_000) : "Done." };
}

function modelsAt(url: string): ServedModels {
  const base = { ...actor, contextWindow: 100_000, usdPerMillionTokens: prices };
  const compat = { providerCompaction: true };
  const claude = { ...base, compat, provider: "anthropic", api: "anthropic-messages", baseUrl: url } as const;
  return {
    claude: { ...claude, id: "claude-opus-5-5" },
    otherClaude: { ...claude, id: "claude-sonnet-5-5" },
    gpt: {
      ...{ ...base, compat, provider: "openai", id: "gpt-6-sol" },
      ...{ api: "openai-responses", baseUrl: `${url}/v1` },
    },
    local: { ...base, provider: "local", id: "tiny", api: "openai-chat", baseUrl: `${url}/v1` },
  };
}

const prices = { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 };

/** The first items of the latest turn's request, as JSON, and whether they contain a provider's summary. */
export function firstSent({ requests }: CompactionServer): { json: string; hasBlock: boolean } {
  const { body } = requests.findLast(({ kind }) => kind === "turn")!;
  const { messages, input = messages } = body as { messages?: unknown[]; input?: unknown[] };
  const json = JSON.stringify(input);
  return { json, hasBlock: json.includes('"type":"compaction"') };
}
