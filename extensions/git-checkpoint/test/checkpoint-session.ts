import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterAll, afterEach, beforeEach, vi } from "vitest";
import gitCheckpoint from "../index.ts";

/** The working folder of the current test. */
export let folder: string;
let template: string | undefined;
const opened: TestSession[] = [];

/** Gives each test of a file an empty folder, and closes its sessions. */
export function useFolders(): void {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "bonsai-checkpoint-test-"));
    for (const [name, value] of Object.entries({
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_AUTHOR_NAME: "A",
      GIT_AUTHOR_EMAIL: "a@b",
      GIT_COMMITTER_NAME: "A",
      GIT_COMMITTER_EMAIL: "a@b",
    }))
      vi.stubEnv(name, value);
  });

  afterEach(async () => {
    for (const session of opened.splice(0)) await session.close();
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });

  afterAll(() => {
    if (template !== undefined) rmSync(template, { recursive: true });
  });
}

export function git(...args: string[]): string {
  return execFileSync("git", args, {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
}

export function put(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** A repository with one commit. Made once; each test has a copy. */
export function repository(): void {
  if (template === undefined) {
    // Without Git's sample hooks, which are most of its files.
    git("init", "-q", "-b", "main", "--template=");
    put({ "a.txt": "a0\n", ".gitignore": "ignored\n" });
    git("add", "-A");
    git("commit", "-qm", "begin");
    template = mkdtempSync(join(tmpdir(), "bonsai-checkpoint-template-"));
    cpSync(folder, template, { recursive: true });
  } else cpSync(template, folder, { recursive: true });
}

export function files(): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !`${entry.parentPath}/`.includes("/.git/"))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  return Object.fromEntries(names.toSorted().map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

export function refs(): string[] {
  return git("for-each-ref", "--format=%(refname)", "refs/bonsai").split("\n").filter(Boolean);
}

/** Runs many commands in one shell, because starting a process is slow. */
export function shell(script: string): string {
  return execFileSync("/bin/sh", ["-c", script], { cwd: folder, encoding: "utf8" });
}

/** The user's own state in git, which must stay as it is. */
export function ownState(): string {
  return shell(
    "cat .git/HEAD; git ls-files --stage; git for-each-ref refs/heads refs/remotes refs/tags refs/stash",
  );
}

/** A command of the shell, or the files to write: that starts no process. */
type Step = string | Record<string, string>;

export function callsOf(step: Step): { calls: { name: string; arguments: Record<string, string> }[] } {
  if (typeof step === "string") return { calls: [{ name: "bash", arguments: { command: step } }] };
  const files = Object.entries(step);
  return { calls: files.map(([path, content]) => ({ name: "write", arguments: { path, content } })) };
}

/** A session in which each prompt does one step. */
export async function session(steps: Step[], options: OpenTestSessionOptions = {}): Promise<TestSession> {
  const answers = steps.flatMap((step) => [callsOf(step), "Done."]);
  const open = await openTestSession({
    extensions: gitCheckpoint,
    ui: { confirm: true },
    cwd: folder,
    answers,
    ...options,
  });
  opened.push(open);
  for (const at of steps.keys()) await open.prompt(`Step ${at + 1}`);
  return open;
}

export function userEntry({ session }: TestSession, text: string): string {
  return session.projection().items.find(({ message }) => JSON.stringify(message).includes(text))!.entryId;
}

export function notes({ ui }: TestSession): unknown[] {
  return ui.filter(({ method }) => method === "notify").map(({ args }) => args[0]);
}

export async function list(open: TestSession): Promise<string[]> {
  await open.command("/checkpoints");
  return (notes(open).at(-1) as string).split("\n");
}
