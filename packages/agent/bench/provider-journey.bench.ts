import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Agent, agentSettings } from "@bonsai-agent/agent";
import { type CatalogueModel, ModelClient } from "@bonsai-agent/models";
import { createSession, type Session } from "@bonsai-agent/session";
import { type BenchTable, type CompactionServer, compactionServer } from "@bonsai-agent/testkit";
import { benchModel } from "./actor-model.ts";

/*
 * One session on Anthropic, OpenAI, a local model and Anthropic again, with a compaction on each, opened in pi at the end.
 * A strict server on the loopback device plays all vendors. pi is installed from the registry, unless
 * `BONSAI_BENCH_PEER` names a folder that has it.
 */
const PEER = "@earendil-works/pi-coding-agent";
const VERSION = process.env.BENCH_PI_VERSION ?? "0.87.1";

interface Pi {
  SessionManager: { open(file: string): { buildSessionContext(): { messages: object[] } } };
}

interface StoredDetails {
  manifest: { rung: string };
  provider?: { items: object[] };
}

export default async function bench(): Promise<BenchTable> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-journey-"));
  const server = await compactionServer({ answer });
  const file = join(folder, "session.jsonl");
  const session = createSession({ cwd: folder, file });
  const agent = agentIn(session, server);
  const rows: string[][] = [];
  const facts: string[] = [];
  const say = async (verb: string) => {
    facts.push(`fact${facts.length + 1}`);
    const result = await agent.prompt(`${verb} ${facts.at(-1)}.`);
    if (result.status !== "done")
      throw new Error(`The prompt ended as ${result.status}.`, { cause: result.error });
  };
  const row = (place: string) => rows.push([place, ...sentCells(session, latestTurn(server), facts)]);
  try {
    for (const model of journeyModels(server.url)) {
      const place = `${model.provider}/${model.id}`;
      await agent.setModel(model);
      if (facts.length > 0) {
        await say("Note");
        row(`${place}, after the switch`);
      }
      await say("Explain");
      const { status, detail } = await agent.compact();
      if (status !== "compacted") throw new Error(detail);
      await say("Note");
      row(`${place}, after its compaction`);
    }
    await agent.close();
    const pi = await installed(folder);
    const { messages } = pi.SessionManager.open(file).buildSessionContext();
    rows.push(["pi, at the end", ...sentCells(session, messages, facts)]);
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return {
    title: `A session with provider summaries on every model, opened in pi ${VERSION} at the end`,
    columns: [
      "model",
      "latest summary",
      "block first, byte for byte",
      "text after it or instead",
      "user's facts",
    ],
    rows,
    notes: [
      "Text: the carry-over after a block, or the readable summary instead of it. Each fact is in a message of the user.",
    ],
  };
}

function agentIn(session: Session, { url }: CompactionServer): Agent {
  return new Agent({
    session,
    models: new ModelClient({ keys: { key: () => "k" } }),
    model: journeyModels(url)[0]!,
    systemPrompt: "You are a bench.",
    tools: [],
    settings: agentSettings({
      titles: false,
      compaction: {
        ...{ keepRecentTokens: 500, mask: { enabled: false } },
        summarizer: { kind: "provider" },
      },
    }),
  });
}

function journeyModels(url: string): readonly CatalogueModel[] {
  const base = { ...benchModel({ contextWindow: 100_000 }), compat: { providerCompaction: true } };
  const claude = { ...base, provider: "anthropic", id: "claude-opus-5-5", baseUrl: url };
  const gpt = { ...base, provider: "openai", id: "gpt-6-sol", baseUrl: `${url}/v1` };
  const local = { ...base, compat: {}, provider: "local", id: "tiny", baseUrl: `${url}/v1` };
  return [
    { ...claude, api: "anthropic-messages" },
    { ...gpt, api: "openai-responses" },
    { ...local, api: "openai-chat" },
    { ...claude, api: "anthropic-messages" },
  ];
}

const HEADINGS = ["Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps"];

/** Answers a request for a summary as text with all headings. */
function answer({ body }: { body: unknown }): { text: string } {
  const sent = JSON.stringify(body);
  const isSummary = sent.includes("hand-over notes");
  if (isSummary)
    return {
      text: [...HEADINGS, "Critical Context"].map((name) => `## ${name}\n${name} as text.`).join("\n\n"),
    };
  const { messages, input = messages } = body as { messages?: unknown[]; input?: unknown[] };
  return { text: JSON.stringify(input?.at(-1)).includes("Explain") ? "abc ".repeat(3_000) : "Done." };
}

function latestTurn({ requests }: CompactionServer): object[] {
  const { body } = requests.findLast(({ kind }) => kind === "turn")!;
  const { messages, input = messages } = body as { messages?: object[]; input?: object[] };
  return (input ?? []).filter((item) => !("role" in item) || item.role !== "system");
}

/** Describes the messages that a reader of the session gets. */
function sentCells(session: Session, messages: readonly object[], facts: readonly string[]): string[] {
  const { manifest, provider } = session.projection().compaction!.details as StoredDetails;
  const json = JSON.stringify(messages);
  const beginning = JSON.stringify(messages.slice(0, provider?.items.length));
  const isBlockFirst = provider?.items.every((item) => beginning.includes(JSON.stringify(item))) ?? false;
  const block = isBlockFirst ? "yes" : json.includes('"encrypted_content"') ? "changed" : "no";
  const readable = /Record of the earlier conversation|compactionSummary/.test(json);
  const known = facts.filter((fact) => new RegExp(`${fact}\\b`).test(json)).length;
  return [manifest.rung, block, readable ? "yes" : "no", `${known} of ${facts.length}`];
}

async function installed(folder: string): Promise<Pi> {
  const peer = process.env.BONSAI_BENCH_PEER || folder;
  const options = ["--prefix", folder, "--ignore-scripts", "--no-audit"];
  if (peer === folder)
    execFileSync("npm", ["install", ...options, `${PEER}@${VERSION}`], { stdio: "ignore" });
  const module = join(peer, "node_modules", PEER, "dist/core/session-manager.js");
  return (await import(pathToFileURL(module).href)) as Pi;
}
