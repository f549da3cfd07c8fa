import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { bonsaiVersion } from "../src/version.ts";
import { testFolder } from "./call/sample-session.ts";
import { type JsonOutcome, jsonOutcomes, writeOutcomeFiles } from "./json-outcomes.ts";
import { runCli } from "./run-cli.ts";

const commands = [...new Set(jsonOutcomes.map(commandOf))];

/** `compact` of `compact-masked`. */
function commandOf({ name }: JsonOutcome): string {
  return name.split("-")[0]!;
}

test("each command prints its JSON outcomes as recorded", () =>
  everyRow(commands)(async (command) => {
    const parts: string[] = [];
    for (const outcome of jsonOutcomes)
      if (commandOf(outcome) === command) parts.push(await recorded(outcome));
    await expect(parts.join("\n")).toMatchFileSnapshot(`golden/json/${command}.txt`);
  }));

async function recorded({ name, args, before = [], input = "", settings }: JsonOutcome): Promise<string> {
  const folder = testFolder();
  const home = join(folder, "home");
  mkdirSync(home);
  writeOutcomeFiles(folder);
  if (settings !== undefined) writeFileSync(join(home, "settings.json"), JSON.stringify(settings));
  const run = (line: string) =>
    runCli(line.split(" "), { cwd: folder, stdin: input, env: { BONSAI_HOME: home, HOME: folder } });
  for (const line of before) await run(line);
  const { code, stdout, stderr } = await run(`${args} --json`);
  const parts = [`# ${name}`, `$ bonsai ${args} --json`, ...readable(stdout, name), `exit ${code}`];
  const errors = readable(stderr, name).map((text) => `stderr ${text}`);
  return steady([...parts, ...errors, ""].join("\n"), folder);
}

interface RunEvent {
  type?: string;
  result?: { status?: string; details?: { manifest?: { isBackground?: boolean } } };
}

const RECORDED_EVENTS = new Set(["auto_compaction_start", "auto_compaction_end", "agent_end"]);

/** Each JSON value of an output, indented. The recording of a run has only its compactions and its end. */
function readable(output: string, name: string): string[] {
  const values = output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as RunEvent);
  if (!name.startsWith("run-")) return values.map((value) => JSON.stringify(value, clipped, 2));
  // The folder's name is part of the prompt, so its tokens differ.
  return values
    .filter(isRecorded)
    .map((event) => JSON.stringify(shortEvent(event), clippedWithoutUsage, 2))
    .map((text) => text.replaceAll(/("\w*[tT]okens\w*": )\d+|\b\d{5,}\b/g, "$1N"));
}

function isRecorded({ type }: RunEvent): boolean {
  return type === undefined || RECORDED_EVENTS.has(type);
}

/** An event without the messages of its run and without the compaction entry. */
function shortEvent({ result, ...event }: RunEvent): object {
  const isBackground = result?.details?.manifest?.isBackground;
  return {
    ...event,
    messages: undefined,
    ...(event.type === "agent_end" ? { result } : { isBackground }),
  };
}

const MAX_CHARACTERS = 160;

function clipped(_key: string, value: unknown): unknown {
  return typeof value === "string" && value.length > MAX_CHARACTERS
    ? `${value.slice(0, MAX_CHARACTERS)}…`
    : value;
}

function clippedWithoutUsage(key: string, value: unknown): unknown {
  return key === "usage" ? undefined : clipped(key, value);
}

/** Replaces values that differ from run to run (folder, new ids, times), and sizes of files. */
function steady(text: string, folder: string): string {
  return text
    .replaceAll(folder, "FOLDER")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID")
    .replaceAll(/\b(?!([a-d])\1{3}000)(?=[a-f]*\d)[0-9a-f]{8}\b/g, "NEW-ID")
    .replaceAll(/20\d\d-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d[-.]\d{3}Z/g, "TIME")
    .replaceAll(/"sizeBytes": \d+/g, '"sizeBytes": N')
    .replaceAll(/"timestamp": 1\d{12}/g, '"timestamp": 0')
    .replaceAll(`"version": "${bonsaiVersion()}"`, '"version": "VERSION"');
}
