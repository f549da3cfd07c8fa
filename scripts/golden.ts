import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { grammar } from "../packages/cli/src/grammar/grammar.ts";
import { writeOutcomeFiles } from "../packages/cli/test/json-outcomes.ts";

// `pnpm golden BONSAI FOLDER` writes the output of 220 calls of a command into FOLDER, one file each. Compare two versions
// of the command with `diff -r`.
const [bonsai, folder] = process.argv.slice(2);
if (bonsai === undefined || folder === undefined)
  throw new Error("Name the command and the folder to write to: pnpm golden BONSAI FOLDER");

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = {
  "workday.jsonl": "examples/workday.jsonl",
  "billing.jsonl": "packages/compaction/bench/annotated/en-billing.jsonl",
  "security.jsonl": "packages/compaction/bench/annotated/de-security.jsonl",
  "transcript.jsonl": "packages/transcripts/test/fixtures/claude-code-basic.jsonl",
};
const READING = `session show; session show --json; session context; session context --json; session tree
  session tree --all; session tree --json; session doctor; session doctor --json; session export
  compact --dry-run; compact --dry-run --json; compact --keep 4k --dry-run; compact --before 00000000 --dry-run
  session context --leaf ffffffff; session show --sources; search error; search zzzz; search err.r --regex -n 3`;
const WRITING = `compact --digest; compact --digest -o small.jsonl --json; compact --keep 4k; session undo; session redo
  session goto ffffffff; session fork ffffffff -o fork.jsonl; session diff nowhere; session merge nowhere
  session export -o page.html`;
const DAMAGED = "session show; session context; session tree; session doctor; compact; session export";
const OTHERS = `compact; search; lab; session show; session fork; extension add; --help; help; --version; sho; treee x.jsonl; compact a b c; compact workday.jsonl --keep lots
  compact workday.jsonl --preset none --dry-run; compact workday.jsonl --digest --model a/b; search --all error
  session show none; session export workday.jsonl -o a.txt; session list; session list --json; session list -n zero
  session import transcript.jsonl -o imported.jsonl; session import notes.txt; session import none; lab workday.jsonl
  lab workday.jsonl --policy none; lab workday.jsonl --policy pi --json; lab none; demo --fast; demo --fast --json
  view none; view workday.jsonl --port x; models; models --all; models --all sonnet; models nothing; models --json
  login; login none; login anthropic; login --forget none; trust; trust none; trust --untrust; extension list
  extension list --json; extension add none-such; extension add ./none; extension remove none; extension update none
  -p; -p hello; --mode wrong hello; --model none -p hello; --model none/none -p hello; -c -p go; -r none -p go
  --fork none -p go; --thinking hard -p go; --tools nothing -p go; --leaf a -p go; -p @none.txt
  -p go --model scripted/play.json; --mode json go --model scripted/play.json; -p go --model scripted/none.json
  -p go --model scripted/play.json --no-session -e ./none.ts; -p go --model scripted/play.json -e ./throws.js
  -p go --model scripted/play.json --tools read; -q -p @notes.txt go --model scripted/play.json
  --mode rpc --model scripted/play.json`;

const lines = (text: string) => text.split(/[;\n]/).map((line) => line.trim());
/** Puts a session after the words of a command. */
const on = (file: string) => (line: string) =>
  line.replace(/^(?:session )?\w+/, (command) => `${command} ${file}`);
const calls = [
  ...grammar.flatMap(({ name }) => [`${name} --help`, `${name} --wrong`]),
  ...["workday.jsonl", "billing.jsonl", "security.jsonl"].flatMap((file) => lines(READING).map(on(file))),
  ...["workday.jsonl", "billing.jsonl"].flatMap((file) => lines(WRITING).map(on(file))),
  ...["empty.jsonl", "header.jsonl", "torn.jsonl", "middle.jsonl", "notes.txt", "missing.jsonl", "."].flatMap(
    (file) => lines(DAMAGED).map(on(file)),
  ),
  ...lines(OTHERS),
];

/** The same path in each run: it is part of prompts, whose tokens are counted. */
const place = join(tmpdir(), "bonsai-golden");
mkdirSync(folder, { recursive: true });
for (const call of new Set(calls)) {
  writePlace();
  const { PATH } = process.env;
  const { stdout, stderr, status, error } = spawnSync(bonsai, call.split(" "), {
    cwd: place,
    encoding: "utf8",
    input: call.startsWith("--mode rpc") ? '{"type":"get_state"}\n{"type":"wrong"}\nno json\n' : "",
    env: { PATH, LANG: "C.UTF-8", TZ: "UTC", HOME: place, BONSAI_HOME: join(place, ".bonsai") },
    timeout: 120_000,
    maxBuffer: 1 << 28,
  });
  if (error !== undefined) throw error;
  const text = `$ bonsai ${call}\nexit ${status}\n${stdout}\n--- stderr\n${stderr}`;
  writeFileSync(join(folder, `${call.replaceAll(/[^\w.-]+/g, "_")}.txt`), steady(text));
}
rmSync(place, { recursive: true, force: true });

/** A home with good and damaged sessions. */
function writePlace(): void {
  rmSync(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  mkdirSync(place);
  writeOutcomeFiles(place);
  for (const [name, source] of Object.entries(sources)) copyFileSync(join(root, source), join(place, name));
  const workday = readFileSync(join(place, "workday.jsonl"), "utf8").split("\n");
  const play = { contextWindow: 100_000, turn: [{ text: "Done: all is well." }], atEnd: "repeat" };
  const files = {
    "empty.jsonl": "",
    "header.jsonl": `${workday[0]}\n`,
    "torn.jsonl": workday.join("\n").slice(0, -40),
    "middle.jsonl": workday.with(20, '{"type":"mess').join("\n"),
    "notes.txt": "These are notes.\n",
    "play.json": JSON.stringify(play),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text);
}

/** Replaces values that differ from run to run: new ids, clock times and durations. */
function steady(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID")
    .replaceAll(/\b(?=[0-9a-f]*\d)[0-9a-f]{8}\b/g, "ENTRY")
    .replaceAll(/20\d\d-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z/g, "TIME")
    .replaceAll(/20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?/g, "TIME")
    .replaceAll(/"timestamp":\s*\d+/g, '"timestamp":0')
    .replaceAll(/\b\d+(\.\d+)? (ms|s)\b/g, "N $2");
}
