import { mkdtempSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { CompactionOutcome } from "@bonsai-agent/compaction";
import { summarySections } from "@bonsai-agent/compaction";

/**
 * Runs one prompt whose tool results reach the threshold, so that the context is masked and summarised, and prints as JSON
 * the source files in which a function ran. A process of its own: coverage has to start before the packages load.
 */
const root = fileURLToPath(new URL("../../../", import.meta.url));
const home = mkdtempSync(join(tmpdir(), "bonsai-walk-"));
process.env.BONSAI_HOME = home;
const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
const status = await promptWithCompaction(home);
const { result } = await inspector.post("Profiler.takePreciseCoverage");
inspector.disconnect();
rmSync(home, { recursive: true });
const files = result
  .filter(({ url, functions }) => sourceFile(url) && functions.some(({ ranges }) => ranges[0]!.count > 0))
  .map(({ url }) => relative(root, fileURLToPath(url)))
  .sort();
console.log(JSON.stringify({ status, files }));

function sourceFile(url: string): boolean {
  return /\/packages\/[^/]+\/src\/.*\.ts$/.test(url) && !url.includes("/node_modules/");
}

async function promptWithCompaction(cwd: string): Promise<CompactionOutcome["status"] | undefined> {
  const { Agent, agentSettings, defineTool, lifecycleEventRules } = await import("@bonsai-agent/agent");
  const { Lifecycle } = await import("@bonsai-agent/lifecycle");
  const { ModelClient, scriptedProvider } = await import("@bonsai-agent/models");
  const { createSession } = await import("@bonsai-agent/session");
  const { z } = await import("zod");
  const text = [...summarySections.history, ...summarySections.turnPrefix]
    .map((heading) => `## ${heading}\nThe files were read.`)
    .join("\n\n");
  const calls = Array.from({ length: 7 }, (_, at) => ({
    calls: [{ name: "lines", arguments: { path: `file-${at}.ts` } }],
  }));
  const provider = scriptedProvider({
    turn: [...calls, { text: "Done." }],
    summary: Array(4).fill({ text }),
  });
  const lifecycle = new Lifecycle<import("@bonsai-agent/agent").LifecycleEvents>({
    rules: lifecycleEventRules,
  });
  let status: CompactionOutcome["status"] | undefined;
  lifecycle.on("auto_compaction_end", ({ outcome }) => {
    status ??= outcome.status;
  });
  const agent = new Agent({
    session: createSession({ cwd, file: join(cwd, "session.jsonl") }),
    models: new ModelClient({ providers: { scripted: async () => provider } }),
    model: {
      provider: "scripted",
      id: "actor",
      name: "Actor",
      api: "scripted",
      baseUrl: "",
      reasoning: false,
      input: ["text"],
      contextWindow: 16_000,
      maxOutputTokens: 1_000,
    },
    settings: agentSettings({ titles: false }),
    tools: [
      defineTool({
        name: "lines",
        description: "Lines of a file.",
        parameters: z.object({ path: z.string() }),
        execute: async () => ({ content: [{ type: "text", text: "one line of a file\n".repeat(500) }] }),
      }),
    ],
    systemPrompt: "You read files.",
    lifecycle,
  });
  // What ran while the packages loaded is no part of the prompt: taking the counts sets them to zero.
  await inspector.post("Profiler.takePreciseCoverage");
  await agent.prompt("Read the seven files.");
  await agent.close();
  return status;
}
