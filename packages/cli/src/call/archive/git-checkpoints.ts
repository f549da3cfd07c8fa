import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { messageOf } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";

// The checkpoints of the extension git-checkpoint: entries that name commits, which refs of the repository keep.

const TYPE = "git-checkpoint";
const REFS = "refs/bonsai/checkpoints";
const OWN_REF = /^refs\/bonsai\/checkpoints\/[\w-]+\/\d+-([0-9a-f]{12})$/;
const COMMIT = /^[0-9a-f]{40,64}$/;

/** The commits of a session's checkpoints. */
export function checkpointCommits(session: Session): Set<string> {
  const index = session.index();
  const numbers = index.numbersOf("custom").filter((number) => (index.detail(number) ?? TYPE) === TYPE);
  const commits = [...session.entriesAt(numbers)].flatMap(({ entry }) => {
    if (entry.type !== "custom" || entry.customType !== TYPE) return [];
    const { commit } = (entry.data ?? {}) as { commit?: unknown };
    return typeof commit === "string" && COMMIT.test(commit) ? [commit] : [];
  });
  return new Set(commits);
}

export interface Bundled {
  count: number;
  /** Checkpoints that a clone can restore: from the bundle, or because a remote has them. */
  carried: number;
  /** Checkpoints whose changed files have a secret. */
  withSecrets: number;
  /** The reason why a checkpoint is missing. */
  reason?: string;
}

/**
 * Writes a bundle with the checkpoints that a repository has. The bundle lacks the commits of remotes and the first
 * commit, so only a clone can take it. No bundle is written if it would be empty.
 * @param hasSecret leaves out checkpoints whose changed files have one. Committed files are not checked
 */
export async function bundleCheckpoints(
  commits: ReadonlySet<string>,
  { file, folders, hasSecret }: { file: string; folders: string[]; hasSecret: (text: string) => boolean },
): Promise<Bundled> {
  const result: Bundled = { count: commits.size, carried: 0, withSecrets: 0 };
  let reason = "their repository is not here";
  const noList = (error: unknown) => {
    reason = reasonOf(error);
    return "";
  };
  for (const cwd of commits.size > 0 ? folders : []) {
    const list = await git(cwd, ["for-each-ref", "--format=%(objectname) %(refname)", REFS]).catch(noList);
    const refs = ownRefs(list, commits);
    if (refs.size === 0) continue;
    try {
      const found = refs.size;
      for (const commit of refs.keys()) if (hasSecret(await changedFiles(cwd, commit))) refs.delete(commit);
      if (refs.size > 0) await writeBundle(cwd, file, refs);
      if (found < commits.size) result.reason = "the repository no longer has the others";
      return { ...result, carried: refs.size, withSecrets: found - refs.size };
    } catch (error) {
      return { ...result, reason: reasonOf(error) };
    }
  }
  return { ...result, reason };
}

async function writeBundle(cwd: string, file: string, refs: ReadonlyMap<string, string>): Promise<void> {
  const list = await git(cwd, ["rev-list", "--parents", ...refs.keys(), "--not", "--remotes"]);
  // Commits that no remote has, each with its parents.
  const unpushed = list
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" "));
  const names = unpushed.flatMap(([commit = ""]) => refs.get(commit) ?? []);
  const first = unpushed.flatMap(([commit = "", parent]) =>
    parent === undefined && !refs.has(commit) ? [commit] : [],
  );
  if (names.length > 0)
    await git(cwd, ["bundle", "create", "--quiet", file, ...names, "--not", "--remotes", ...first]);
}

export interface Unbundled {
  count: number;
  /** Checkpoints that the repository has now. */
  restored: number;
  /** The reason why it lacks others. */
  reason?: string;
}

/** Adds the checkpoints of a bundle, if there is one, to the repository of a folder. Changes no other ref. */
export async function unbundleCheckpoints(
  commits: ReadonlySet<string>,
  { file, cwd }: { file: string; cwd: string },
): Promise<Unbundled> {
  let reason = "the file lacks the others";
  try {
    const list = existsSync(file) ? await git(cwd, ["bundle", "list-heads", file]) : "";
    const refs = [...ownRefs(list, commits).values()].map((ref) => `${ref}:${ref}`);
    const quiet = ["--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules"];
    if (refs.length > 0) await git(cwd, ["fetch", ...quiet, file, ...refs]);
  } catch (error) {
    reason = reasonOf(error);
  }
  // A remote's branch can have some of them. An object without a ref can disappear.
  const kept = new Set((await git(cwd, ["rev-list", "--all"]).catch(() => "")).split("\n"));
  const [count, restored] = [commits.size, [...commits].filter((commit) => kept.has(commit)).length];
  return { count, restored, ...(restored < count && { reason }) };
}

/** Names of refs by their commits: those of the session. */
function ownRefs(list: string, commits: ReadonlySet<string>): Map<string, string> {
  const refs = list.split("\n").map((line) => line.split(" ", 2) as [string, string]);
  return new Map(
    refs.filter(([commit, ref]) => commits.has(commit) && commit.startsWith(OWN_REF.exec(ref)?.[1] ?? " ")),
  );
}

/** The names and contents of the files that differ from the parent commit's. */
async function changedFiles(cwd: string, commit: string): Promise<string> {
  const whole = ["--text", "--no-renames", "--no-ext-diff", "--no-textconv", "-U1000000"];
  const diff = await git(cwd, ["diff-tree", "-p", "--root", ...whole, commit]);
  return diff.replaceAll(/^-.*\n/gm, "");
}

/** Runs no hooks, and starts no other program. From 2.46 on, git also checks the objects of a bundle. */
const GUARDS = [
  ...["core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false"],
  "fetch.fsckObjects=true",
];
const MAX_OUTPUT_BYTES = 64 << 20;

async function git(cwd: string, args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("git", [...GUARDS.flatMap((each) => ["-c", each]), ...args], {
    ...{ cwd, maxBuffer: MAX_OUTPUT_BYTES, env: { ...process.env, LC_ALL: "C" } },
  });
  return stdout;
}

function reasonOf(error: unknown): string {
  const { code, stderr = "" } = error as { code?: unknown; stderr?: string };
  if (code === "ENOENT") return "git is not installed, or the folder is gone";
  if (code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") return "a checkpoint is too large";
  if (/not a git repository/.test(stderr)) return "the folder is not in a git repository";
  if (/prerequisite/.test(stderr))
    return "the repository lacks commits that they build on. Fetch them and import the file again";
  const [line] = stderr.split("\n").filter((each) => /^(?:fatal|error):/.test(each));
  return line?.replace(/^\w+: /, "") ?? messageOf(error);
}
