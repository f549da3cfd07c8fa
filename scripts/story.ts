import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { styleText } from "node:util";
import { generateWorkday } from "@bonsai-agent/testkit";

// `npm start [-- FILE]`: builds, then compacts a long session without a model and shows what happened.
const root = fileURLToPath(new URL("..", import.meta.url));
const bonsai = join(root, "packages/cli/bin/bonsai.js");

build();
const folder = mkdtempSync(join(tmpdir(), "bonsai-"));
const given = process.argv[2];
const session = given === undefined ? generated() : resolve(process.env.INIT_CWD ?? root, given);
const copy = join(folder, "compacted.jsonl");

chapter("A long session", ["show", session]);
chapter("What a compaction would do", ["compact", session, "--dry-run"]);
const compact = ["compact", session, "--digest", "-o", copy, "--json"];
heading("The compaction, without a model", compact);
const { tokensBefore, tokensAfter, summary } = compacted();
console.log(
  `${tokensBefore.toLocaleString("en")} → ${tokensAfter.toLocaleString("en")} tokens. The summary:\n\n${summary}`,
);
chapter("What the model sees now", ["context", copy]);
chapter("The tree: nothing is gone", ["tree", copy]);
console.log(`\nThe original is untouched: ${session}\nThe compacted copy:        ${copy}`);
console.log(
  "Go on: bonsai --help, or `node packages/cli/bin/bonsai.js compact YOUR-SESSION.jsonl --dry-run`",
);

function build(): void {
  const turbo = join(root, "node_modules/.bin/turbo");
  const run = spawnSync(turbo, ["run", "build", "--output-logs=errors-only"], {
    cwd: root,
    encoding: "utf8",
  });
  if (run.status === 0) return;
  console.error(run.stdout, run.stderr);
  process.exit(run.status ?? 1);
}

function generated(): string {
  const file = join(folder, "workday.jsonl");
  generateWorkday({ file, seed: 7, entries: 400 });
  return file;
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

function compacted(): { tokensBefore: number; tokensAfter: number; summary?: string } {
  const run = spawnSync(process.execPath, [bonsai, ...compact], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (run.status !== 0) process.exit(run.status ?? 1);
  return JSON.parse(run.stdout);
}
