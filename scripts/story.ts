import { spawnSync } from "node:child_process";
import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { styleText } from "node:util";

// `npm start`: builds, then opens the agent on the terminal, in the folder that it was called from; where there is no
// model, or no terminal, a whole session plays on a scripted one. `npm start -- FILE` compacts a session of yours, in a
// copy. Anything else behind `--` is what one would write behind `bonsai`: a prompt, whose answer is printed where there is
// no terminal, a command, or flags.
const root = fileURLToPath(new URL("..", import.meta.url));
const bonsai = join(root, "packages/cli/bin/bonsai.js");
const callerFolder = process.env.INIT_CWD ?? root;
const [given, ...more] = process.argv.slice(2);

const isTerminal = process.stdin.isTTY && process.stdout.isTTY;

build();
if (given === undefined) handOver(isTerminal ? [] : ["demo"]);
else if (more.length === 0 && isFile(resolve(callerFolder, given)))
  compactionStory(resolve(callerFolder, given));
else handOver([given, ...more]);

/** The command takes the terminal; its exit code is ours. */
function handOver(args: string[]): void {
  const env = { ...process.env, BONSAI_FIRST_RUN: "demo", BONSAI_CALLED_AS: "npm start --" };
  const run = spawnSync(process.execPath, [bonsai, ...args], { stdio: "inherit", cwd: callerFolder, env });
  process.exitCode = run.status ?? 1;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function compactionStory(session: string): void {
  const copy = join(mkdtempSync(join(tmpdir(), "bonsai-")), "compacted.jsonl");
  chapter("A long session", ["show", session]);
  chapter("What a compaction would do", ["compact", session, "--dry-run"]);
  const compact = ["compact", session, "--digest", "-o", copy, "--json"];
  heading("The compaction, without a model", compact);
  const { tokensBefore, tokensAfter, summary } = compacted(compact);
  console.log(
    `${tokensBefore.toLocaleString("en")} → ${tokensAfter.toLocaleString("en")} tokens. The summary:\n\n${summary}`,
  );
  chapter("What the model sees now", ["context", copy]);
  chapter("The tree: nothing is lost", ["tree", copy]);
  console.log(`\nThe original is untouched: ${session}\nThe compacted copy:        ${copy}`);
  console.log("Here, `npm start -- …` is what `bonsai …` is where the command is installed.");
}

function build(): void {
  const argv = ["--conditions=@bonsai-agent/source", join(root, "scripts/build.ts")];
  const run = spawnSync(process.execPath, argv, { cwd: root, encoding: "utf8" });
  if (run.status === 0) return;
  console.error(run.stdout, run.stderr);
  process.exit(run.status ?? 1);
}

function heading(title: string, args: string[]): void {
  console.log(`\n${styleText("bold", `── ${title} `.padEnd(78, "─"))}`);
  console.log(styleText("dim", `$ bonsai ${args.join(" ")}`));
}

function chapter(title: string, args: string[]): void {
  heading(title, args);
  const run = spawnSync(process.execPath, [bonsai, ...args], { stdio: "inherit" });
  if (run.status !== 0) process.exit(run.status ?? 1);
}

function compacted(compact: string[]): { tokensBefore: number; tokensAfter: number; summary?: string } {
  const run = spawnSync(process.execPath, [bonsai, ...compact], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (run.status !== 0) process.exit(run.status ?? 1);
  return JSON.parse(run.stdout);
}
