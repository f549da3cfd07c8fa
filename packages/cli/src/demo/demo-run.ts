import { mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  type Agent,
  agentSettings,
  type LifecycleEvents,
  lifecycleEventRules,
  openAgent,
} from "@bonsai-agent/agent";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { tokenEstimator } from "@bonsai-agent/messages";
import { type CatalogueModel, ModelClient, type Provider, type ProviderCall } from "@bonsai-agent/models";
import { type ScenarioAnswer, scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession } from "@bonsai-agent/session";
import { type Act, acts, summaries } from "./acts.ts";
import { writeProject } from "./project.ts";

/** Something worth a mark in the chart. */
export type Moment = "masked" | "summarised" | "overflow" | "tree";

export interface DemoViewer {
  actBegins(act: Act, number: number): Promise<void>;
  listen(lifecycle: Lifecycle<LifecycleEvents>): void;
  notice(message: string): void;
}

export interface DemoRun {
  agent: Agent;
  sessionFile: string;
  projectFolder: string;
  /** Every request, in order. */
  served: readonly ServedRequest[];
  /** Each moment, with the index of the request after it. */
  moments: readonly { at: number; moment: Moment }[];
  windowTokens: number;
}

interface DemoOptions {
  /** An empty folder. */
  folder: string;
  /** Wait before each piece of an answer. */
  delayMs: number;
  viewer: DemoViewer;
  signal: AbortSignal;
}

const WINDOW_TOKENS = 16_500;

/** Its window is wrong in the catalogue, as often for local servers. */
const model: CatalogueModel = {
  provider: "scripted",
  id: "actor-32k",
  name: "Actor",
  api: "scripted",
  baseUrl: "",
  input: ["text"],
  reasoning: false,
  contextWindow: 2 * WINDOW_TOKENS,
  maxOutputTokens: 1_500,
  usdPerMillionTokens: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
};

/** Plays all acts: a real agent with real tools on a real project, and a scripted model. */
export async function playDemo(options: DemoOptions): Promise<DemoRun> {
  const projectFolder = join(options.folder, "corner-shop");
  mkdirSync(projectFolder);
  writeProject(projectFolder);
  const served: ServedRequest[] = [];
  const moments: { at: number; moment: Moment }[] = [];
  const scripted = scriptedModel(options.delayMs, (each) => served.push(each));
  const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules });
  const mark = (moment: Moment) => moments.push({ at: served.length, moment });
  watch(lifecycle, mark);
  options.viewer.listen(lifecycle);
  const sessionFile = join(options.folder, "session.jsonl");
  const agent = await openAgent({
    session: createSession({ cwd: projectFolder, file: sessionFile }),
    cwd: projectFolder,
    home: options.folder,
    settings: agentSettings({
      // Each compaction is to be seen as it comes.
      compaction: { mask: { protectTokens: 2_000, minimumTokens: 500 }, background: false },
    }),
    models: new ModelClient({
      providers: { scripted: async () => scripted.provider },
      retry: { maxRetries: 1, baseDelayMs: 200 },
    }),
    model,
    lifecycle,
    onNotice: ({ message }) => options.viewer.notice(message),
  });
  try {
    await play(agent, scripted.beginAct, options, mark);
  } catch (error) {
    await agent.close();
    throw error;
  }
  return { agent, sessionFile, projectFolder, served, moments, windowTokens: WINDOW_TOKENS };
}

async function play(
  agent: Agent,
  beginAct: (act: Act) => void,
  options: DemoOptions,
  mark: (moment: Moment) => void,
): Promise<void> {
  const ends: (string | null)[] = [];
  for (const [index, act] of acts.entries()) {
    options.signal.throwIfAborted();
    await options.viewer.actBegins(act, index + 1);
    beginAct(act);
    const back = act.backTo === undefined ? undefined : ends[act.backTo - 1];
    if (back != null) {
      mark("tree");
      await agent.navigate(back, { summarise: true, signal: options.signal });
    }
    const stop = () => void agent.abort();
    options.signal.addEventListener("abort", stop, { once: true });
    const result = await agent.prompt(act.user);
    options.signal.removeEventListener("abort", stop);
    if (result.error !== undefined) throw result.error;
    ends.push(agent.session.leafId);
  }
}

function watch(lifecycle: Lifecycle<LifecycleEvents>, mark: (moment: Moment) => void): void {
  lifecycle.on("session_mask", () => mark("masked"));
  lifecycle.on("auto_compaction_start", ({ reason }) => {
    if (reason === "overflow") mark("overflow");
  });
  lifecycle.on("session_compact", () => mark("summarised"));
}

/** One request as the server of the demonstration saw it. */
interface ServedRequest {
  purpose: ProviderCall["purpose"];
  /** Tokens of the request by the server's own count. */
  inputTokens: number;
  refused: boolean;
}

/** Answers with the lines of the act. Refuses long requests as a server does. */
function scriptedModel(delayMs: number, onServed: (served: ServedRequest) => void) {
  let lines: ScenarioAnswer[] = [];
  let earlyPart = "";
  const answerTo = ({ purpose, summaryKind = "history" }: ProviderCall): ScenarioAnswer => {
    if (purpose === "summary")
      return { text: summaryKind === "turnPrefix" ? earlyPart : summaries[summaryKind] };
    if (purpose === "title") return { text: "Corner shop: prices and discount codes" };
    return { ...(lines.shift() ?? { text: "That is all." }), delayMs };
  };
  const scripted = scriptedProvider(answerTo);
  const provider: Provider = {
    stream(call, answer) {
      const inputTokens = requestTokens(call);
      onServed({ purpose: call.purpose, inputTokens, refused: inputTokens > WINDOW_TOKENS });
      return scripted.stream({ ...call, model: { ...call.model, contextWindow: WINDOW_TOKENS } }, answer);
    },
  };
  return {
    provider,
    beginAct(act: Act) {
      lines = [...act.answers];
      earlyPart = act.earlyPart ?? "";
    },
  };
}

function requestTokens({ systemPrompt, tools, messages }: ProviderCall): number {
  const fixed = tokenEstimator.text(systemPrompt) + tokenEstimator.text(JSON.stringify(tools));
  return messages.reduce((sum, message) => sum + tokenEstimator.message(message), fixed);
}
