import { spawnSync } from "node:child_process";
import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { styleText } from "node:util";

// Runs the built command for `npm start`. Without words it opens the agent in the caller's folder, or the demo if there
// is no terminal. A FILE is compacted as a copy. Other ARGS run `bonsai ARGS`.
const root = fileURLToPath(new URL("../..", import.meta.url));
const bonsai = join(root, "packages/cli/bin/bonsai.js");
const callerFolder = process.env.INIT_CWD ?? root;
const [given, ...more] = process.argv.slice(2);

const isTerminal = process.stdin.isTTY && process.stdout.isTTY;

if (given === undefined) handOver(isTerminal ? [] : ["demo"]);
else if (more.length === 0 && isFile(resolve(callerFolder, given)))
  compactionStory(resolve(callerFolder, given));
else handOver([given, ...more]);

/** Runs the command on this terminal and takes over its exit code. */
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
  chapter("A long session", ["session", "show", session]);
  chapter("The plan of a compaction", ["compact", session, "--dry-run"]);
  const compact = ["compact", session, "--digest", "-o", copy, "--json"];
  heading("The compaction, without a model", compact);
  const { tokensBefore, tokensAfter, summary } = compacted(compact);
  console.log(
    `${tokensBefore.toLocaleString("en")} → ${tokensAfter.toLocaleString("en")} tokens. The summary:\n\n${summary}`,
  );
  chapter("The new context", ["session", "context", copy]);
  chapter("The tree: nothing is lost", ["session", "tree", copy]);
  console.log(`\nThe original is unchanged: ${session}\nThe compacted copy:        ${copy}`);
  console.log("In this clone, `npm start -- ARGS` runs `bonsai ARGS`.");
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
