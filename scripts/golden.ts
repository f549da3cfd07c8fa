import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { writeOutcomeFiles } from "../packages/cli/test/json-outcomes.ts";
import { type GoldenCall, goldenCalls } from "./golden/calls.ts";
import { type GoldenScreen, goldenScreens } from "./golden/screens.ts";

// Records what the installed command prints and shows, so that two versions of it can be compared with `diff -r`:
// `pnpm golden --bonsai PATH --fixtures FOLDER --to FOLDER`. It is no part of `npm test`.
const { values } = parseArgs({
  options: {
    bonsai: { type: "string" },
    fixtures: { type: "string" },
    to: { type: "string" },
    only: { type: "string" },
  },
});
const { bonsai, fixtures, to, only = "all" } = values;
if (bonsai === undefined || fixtures === undefined || to === undefined) {
  console.error(
    "Name the command, the folder of sessions and the folder to write to: --bonsai, --fixtures, --to.",
  );
  process.exit(2);
}
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const sources: Readonly<Record<string, string>> = {
  "workday.jsonl": join(root, "examples/workday.jsonl"),
  "large.jsonl": join(fixtures, "pi-large-session.jsonl"),
  "billing.jsonl": join(fixtures, "annotated/en-billing.jsonl"),
  "security.jsonl": join(fixtures, "annotated/de-security.jsonl"),
  "firmware.jsonl": join(fixtures, "annotated/en-firmware.jsonl"),
  "game.jsonl": join(fixtures, "annotated/ja-game.jsonl"),
  "transcript.jsonl": join(root, "packages/transcripts/test/fixtures/claude-code-basic.jsonl"),
};
/** Entry ids in the recorded sessions. All other ids are new in each run. */
const knownIds = new Set<string>();

if (only !== "screens") recordCalls(join(to, "calls"));
if (only !== "calls") await recordScreens(join(to, "screens"));

function recordCalls(folder: string): void {
  mkdirSync(folder, { recursive: true });
  goldenCalls.forEach((call, at) => {
    const place = newPlace(call.settings);
    const run = (args: readonly string[]) =>
      spawnSync(bonsai!, args, {
        cwd: place,
        encoding: "utf8",
        input: call.input ?? "",
        env: environment(place),
        timeout: 120_000,
        maxBuffer: 1 << 28,
      });
    for (const args of call.before ?? []) run(args);
    const { stdout, stderr, status } = run(call.args);
    const parts = [`$ bonsai ${call.args.join(" ")}`, `exit ${status}`, stdout, "--- stderr", stderr];
    writeFileSync(join(folder, fileName(call, at)), steady(parts.join("\n"), place));
    rmSync(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  });
  console.log(`${goldenCalls.length} calls`);
}

function fileName({ name, args }: GoldenCall, at: number): string {
  const words = (name ?? args.join("_")).replaceAll(/[^\w.-]+/g, "_").slice(0, 60);
  return `${String(at).padStart(3, "0")}-${words}.txt`;
}

async function recordScreens(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const screen of goldenScreens) await recordScreen(screen, folder);
  console.log(`${goldenScreens.length} screens`);
}

async function recordScreen(
  { name, steps, session, columns = 100 }: GoldenScreen,
  folder: string,
): Promise<void> {
  const place = newPlace();
  const socket = `golden-${process.pid}`;
  const tmux = (...args: string[]) =>
    spawnSync("tmux", ["-L", socket, ...args], { encoding: "utf8", env: environment(place) }).stdout;
  const opened = session === undefined ? "" : ` --session ${session}`;
  tmux(
    "-f",
    "/dev/null",
    "new-session",
    "-d",
    "-x",
    String(columns),
    "-y",
    "32",
    "-c",
    place,
    `${bonsai} --model scripted/play.json${opened}`,
  );
  try {
    await settled(tmux);
    for (const step of steps) {
      for (const [part] of step.matchAll(/<\w+>|[^<]+/g)) {
        if (part === "<Wait>") await pause(1_500);
        else if (part.startsWith("<")) tmux("send-keys", part.slice(1, -1));
        else tmux("send-keys", "-l", part);
        await pause(100);
      }
      await settled(tmux);
    }
    writeFileSync(join(folder, `${name}.txt`), steady(tmux("capture-pane", "-p"), place));
  } finally {
    tmux("kill-server");
    rmSync(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  }
}

/** Waits until the screen has not changed for a second; ten seconds at most. */
async function settled(tmux: (...args: string[]) => string): Promise<void> {
  let before = "";
  let same = 0;
  for (let look = 0; look < 40 && same < 4; look += 1) {
    await pause(250);
    const now = tmux("capture-pane", "-p");
    same = now === before && now.trim() !== "" ? same + 1 : 0;
    before = now;
  }
}

/** A home and a project with good and damaged sessions. */
function newPlace(settings?: object): string {
  // The same path in each run: it is part of prompts, whose tokens are counted.
  const place = join(tmpdir(), "bonsai-golden");
  rmSync(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  mkdirSync(place);
  writeOutcomeFiles(place);
  if (settings !== undefined) {
    mkdirSync(join(place, "home/.bonsai"), { recursive: true });
    writeFileSync(join(place, "home/.bonsai/settings.json"), JSON.stringify(settings));
  }
  for (const [name, source] of Object.entries(sources)) copyFileSync(source, join(place, name));
  const workday = readFileSync(sources["workday.jsonl"]!, "utf8").split("\n");
  const play = { contextWindow: 100_000, turn: [{ text: "Done: all is well." }], atEnd: "repeat" };
  const files = {
    "empty.jsonl": "",
    "header.jsonl": `${workday[0]}\n`,
    "torn.jsonl": workday.join("\n").slice(0, -40),
    "middle.jsonl": workday.with(20, '{"type":"mess').join("\n"),
    "notes.txt": "These are notes.\n",
    "workday.txt": "A text.\n",
    "broken.ts": "export default function (bonsai) { throw new Error('broken on purpose'); }\n",
    "play.json": JSON.stringify(play),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text);
  if (knownIds.size === 0) for (const id of entryIds(place)) knownIds.add(id);
  return place;
}

function entryIds(folder: string): string[] {
  const texts = readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => readFileSync(join(folder, name), "utf8"));
  return texts.flatMap((text) => [...text.matchAll(/"id":"([0-9a-f]{8})"/g)].map(([, id]) => id!));
}

function environment(place: string): NodeJS.ProcessEnv {
  const { PATH, LANG = "C.UTF-8" } = process.env;
  return {
    PATH,
    LANG,
    HOME: join(place, "home"),
    BONSAI_HOME: join(place, "home/.bonsai"),
    TERM: "xterm-256color",
    TZ: "UTC",
  };
}

/** Replaces values that differ from run to run: the folder, new ids, clock times and durations. */
function steady(text: string, place: string): string {
  return text
    .replaceAll(place, "PLACE")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID")
    .replaceAll(/\b(?=[0-9a-f]*\d)[0-9a-f]{8}\b/g, (id) => (knownIds.has(id) ? id : "ENTRYID0"))
    .replaceAll(/20\d\d-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z/g, "TIME")
    .replaceAll(/20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?/g, "TIME")
    .replaceAll(/"timestamp":\s*\d+/g, '"timestamp":0')
    .replaceAll(/\b\d+(\.\d+)? (ms|s)\b/g, "N $2");
}
