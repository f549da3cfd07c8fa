import { mkdtempSync, rmSync } from "node:fs";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Agent } from "@bonsai-agent/agent";
import type { CompactionOutcome } from "@bonsai-agent/compaction";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { parseSync } from "oxc-parser";

/**
 * Follows three flows through the source and prints each as a line of JSON: a prompt whose tool results reach the threshold,
 * so that the context is compacted; the same without a background summary; and a move to an earlier entry with a summary of
 * the branch. A process of its own: the functions are marked while the packages load.
 *
 * - `files`: the files of all functions that run, in the order of their first calls.
 * - `returns`: how often this order enters a file that it has left before. A reader who follows the flow opens that file
 *   again. Ends of calls and later calls of the same function do not count.
 * - `packages`: both numbers for the files of each package alone.
 * - `request`: the calls in `compaction` that receive the compaction's request or the run made of it, in the order of time.
 */
interface Walk {
  flow: "prompt" | "prompt without background" | "tree";
  status: string | undefined;
  files: string[];
  returns: number;
  packages: Record<string, Path>;
  request: Path;
}

interface Path {
  files: number;
  returns: number;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** The file of each marked function. */
const fileOf: string[] = [];
const entered = new Set<number>();
/** The files of the calls that receive the request of a compaction. */
const requested: string[] = [];
Object.assign(globalThis, { __enter: enter });

function enter(mark: number, received: ArrayLike<unknown>): void {
  entered.add(mark);
  const file = fileOf[mark]!;
  if (file.startsWith("packages/compaction/") && Array.from(received).some(isRequest)) requested.push(file);
}

function isRequest(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.hasOwn(value, "session") &&
    Object.hasOwn(value, "settings")
  );
}

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!/\/packages\/[^/]+\/src\/.*\.ts$/.test(url) || url.includes("/node_modules/")) return loaded;
    return { ...loaded, source: marked(String(loaded.source), relative(root, fileURLToPath(url))) };
  },
});

interface Node {
  type: string;
  start: number;
  end: number;
}

/** JavaScript in which each function says that it runs. */
function marked(code: string, file: string): string {
  const inserts: [at: number, text: string][] = [];
  const mark = (isArrow: boolean, params: readonly Param[]) =>
    `__enter(${fileOf.push(file) - 1},${isArrow ? `[${params.flatMap(boundNames)}]` : "arguments"})`;
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { type, body, params } = value as { type?: string; body?: Node | null; params?: Param[] };
    if (body != null && /^(?:Function(?:Declaration|Expression)|ArrowFunctionExpression)$/.test(type ?? "")) {
      const call = mark(type === "ArrowFunctionExpression", params!);
      if (body.type === "BlockStatement") inserts.push([body.start + 1, `${call};`]);
      else inserts.push([body.start, `(${call},`], [body.end, ")"]);
    }
    Object.values(value).forEach(visit);
  };
  visit(parseSync("code.js", code).program);
  return inserts
    .sort(([a], [b]) => b - a)
    .reduce((text, [at, insert]) => text.slice(0, at) + insert + text.slice(at), code);
}

interface Param {
  type: string;
  name?: string;
  left?: Param;
}

/** An arrow function has no `arguments`. Parts of an object are not followed. */
function boundNames({ type, name, left }: Param): string[] {
  if (type === "AssignmentPattern") return boundNames(left!);
  return type === "Identifier" ? [name!] : [];
}

function walked(flow: Walk["flow"], status: string | undefined): Walk {
  const path = [...entered].map((mark) => fileOf[mark]!);
  const packageOf = (file: string) => file.split("/")[1]!;
  const names = [...new Set(path.map(packageOf))].sort();
  const packages = names.map((name) => [name, measured(path.filter((file) => packageOf(file) === name))]);
  return {
    flow,
    status,
    files: [...new Set(path)],
    returns: measured(path).returns,
    packages: Object.fromEntries(packages),
    request: measured(requested),
  };
}

function measured(path: readonly string[]): Path {
  const stays = path.filter((file, at) => file !== path[at - 1]);
  const files = new Set(stays).size;
  return { files, returns: stays.length - files };
}

function reset(): void {
  entered.clear();
  requested.length = 0;
}

interface AgentOptions {
  cwd: string;
  contextWindow: number;
  /** Default: true. */
  background?: boolean;
}

async function newAgent({ cwd, contextWindow, background = true }: AgentOptions): Promise<{
  agent: Agent;
  outcome: () => CompactionOutcome["status"] | undefined;
}> {
  const { Agent, agentSettings, defineTool, lifecycleEventRules } = await import("@bonsai-agent/agent");
  const { Lifecycle } = await import("@bonsai-agent/lifecycle");
  const { ModelClient } = await import("@bonsai-agent/models");
  const { scriptedProvider } = await import("@bonsai-agent/models/scripted");
  const { createSession } = await import("@bonsai-agent/session");
  const { z } = await import("zod");
  const provider = scriptedProvider(await scenario());
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
      contextWindow,
      maxOutputTokens: 1_000,
    },
    settings: agentSettings({ titles: false, compaction: { background } }),
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
  return { agent, outcome: () => status };
}

async function scenario(): Promise<Scenario> {
  const { summarySections } = await import("@bonsai-agent/compaction");
  const text = [...summarySections.history, ...summarySections.turnPrefix]
    .map((heading) => `## ${heading}\nThe files were read.`)
    .join("\n\n");
  const calls = Array.from({ length: 7 }, (_, at) => ({
    calls: [{ name: "lines", arguments: { path: `file-${at}.ts` } }],
  }));
  return { turn: [...calls, { text: "Done." }], summary: Array(4).fill({ text }) };
}

async function walkPrompt(cwd: string, background: boolean): Promise<Walk> {
  const { agent, outcome } = await newAgent({ cwd, contextWindow: 16_000, background });
  // Functions that ran while the packages loaded are no part of the prompt.
  reset();
  await agent.prompt("Read the seven files.");
  await agent.close();
  return walked(background ? "prompt" : "prompt without background", outcome());
}

async function walkTree(cwd: string): Promise<Walk> {
  const { agent } = await newAgent({ cwd, contextWindow: 200_000 });
  await agent.prompt("Read the seven files.");
  const [first] = agent.session.path();
  reset();
  const { status } = await agent.navigate(first!.id, { summarise: true });
  const walk = walked("tree", status);
  await agent.close();
  return walk;
}

const walks = [
  (cwd: string) => walkPrompt(cwd, true),
  (cwd: string) => walkPrompt(cwd, false),
  (cwd: string) => walkTree(cwd),
];
for (const walk of walks) {
  const home = mkdtempSync(join(tmpdir(), "bonsai-walk-"));
  process.env.BONSAI_HOME = home;
  console.log(JSON.stringify(await walk(home)));
  rmSync(home, { recursive: true });
}
