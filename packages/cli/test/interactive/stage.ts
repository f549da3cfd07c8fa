import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import { expect, onTestFinished, vi } from "vitest";
import { type AgentProject, agentProject, says } from "../call/agent-project.ts";
import { type OpenInteractiveOptions, openInteractive } from "./harness.ts";
import type { HeadlessTerminal } from "./headless-terminal.ts";

export interface StageOptions extends Omit<OpenInteractiveOptions, "withModel" | "project" | "scenario"> {
  /** What the model says; or, as a text, what it begins to say and never ends. */
  scenario?: Scenario | string;
}

/** Opens the interactive mode in `~/project` with a model that is called `stage/actor`, so that screens can be compared. */
export async function openStage({ scenario = says("Good."), argv = [], ...options }: StageOptions) {
  const project = agentProject(typeof scenario === "string" ? says("Never said.") : scenario, options.files);
  vi.stubEnv("HOME", dirname(project.cwd));
  onTestFinished(() => void vi.unstubAllEnvs());
  const provider =
    typeof scenario === "string"
      ? { api: "openai-chat", baseUrl: await neverEnding(scenario) }
      : { api: "scripted", baseUrl: join(dirname(project.cwd), "scenario.json") };
  writeModels(project, provider);
  const opened = openInteractive({
    ...options,
    project,
    withModel: false,
    argv: ["--model", "stage/actor", ...argv],
  });
  await opened.terminal.until("actor");
  return opened;
}

function writeModels({ home, cwd }: AgentProject, provider: object): void {
  const scenario = JSON.parse(readFileSync(join(dirname(cwd), "scenario.json"), "utf8")) as Scenario;
  const { contextWindow = 100_000, maxOutputTokens = 8_000 } = scenario;
  const model = { id: "actor", name: "Actor", contextWindow, maxOutputTokens };
  const file = { providers: [{ provider: "stage", ...provider, models: [model] }] };
  writeFileSync(join(home, "models.json"), JSON.stringify(file));
}

async function neverEnding(text: string): Promise<string> {
  const head = { id: "1", object: "chat.completion.chunk", created: 0, model: "actor" };
  const choices = [{ index: 0, delta: { role: "assistant", content: text }, finish_reason: null }];
  const server = await loopbackServer(() => ({
    headers: { "content-type": "text/event-stream" },
    chunks: sseChunks([{ data: { ...head, choices } }]),
    end: "hang",
  }));
  onTestFinished(() => server.close());
  return `${server.url}/v1`;
}

/** Holds what is seen to `screens/NAME.txt`: what chance and clocks write is replaced. */
export async function expectScreen(terminal: HeadlessTerminal, name: string): Promise<void> {
  await terminal.settle();
  await expect(`${steady(terminal.screen())}\n`).toMatchFileSnapshot(`screens/${name}.txt`);
}

function steady(screen: string): string {
  return (
    screen
      .replaceAll(/\b[0-9a-f]{8}\b/g, "xxxxxxxx")
      .replaceAll(/\bbonsai \d+\.\d+\.\d+(-\S+)?/g, "bonsai 0.0.0")
      .replaceAll(/[⠀-⣿]/g, "⠋")
      .replaceAll(/\b\d+(\.\d)?s\b/g, "0s")
      // The system prompt names the folder, and folders are of different lengths.
      .replaceAll(/\b(\d\d),\d{3}\b/g, "$1,000")
      // Behind the number, all is at the right end.
      .replaceAll(/~?\d(\.\d)?k\/100k +\d% */g, (size) => "~0.0k/100k 2%".padEnd(size.length))
      .replaceAll(/(system prompt +~)\d+/g, (_, label) => `${label}000`)
      .replaceAll(/(skills +~)\d+/g, (_, label) => `${label}00`)
      // A slow machine shows how long a call took.
      .replaceAll(/^( ● .*?) \d+ s$/gm, "$1")
      // The summary's share of the reported tokens moves with the length of the system prompt.
      .replaceAll(/( {2}summary +~)\d+(?= +<1% *$)/gm, (_, label) => `${label}00`)
      .replaceAll(/(xxxxxxxx +~)\d+(?= {2}summary)/g, (_, start) => `${start}00`)
      // Where messages and all that stands before them share what was reported, that moves the others, too.
      .replaceAll(/( {2}tools +~)\d+(?= +<?\d+% )/g, (_, label) => `${label}000`)
      .replaceAll(/\b(?:\d{1,2} [A-Z][a-z]{2}(?: \d{4})?, )?\d\d:\d\d\b(?! )/g, "1 Jan, 00:00")
      .replaceAll(/\d+(\.\d)? kB/g, "0 kB")
  );
}
