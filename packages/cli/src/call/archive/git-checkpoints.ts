import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { messageOf } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";

// The checkpoints of the extension git-checkpoint: entries that name commits, which refs of the repository keep.

const TYPE = "git-checkpoint";
const REFS = "refs/bonsai/checkpoints";
const OWN_REF = /^refs\/bonsai\/checkpoints\/[\w-]+\/\d+-([0-9a-f]{12})$/;
const COMMIT = /^[0-9a-f]{40,64}$/;

/** Bundles of git begin with this. */
export const BUNDLE_MARK = /^# v\d+ git bundle\n/;

/** The commits of a session's checkpoints. */
export function checkpointCommits(session: Session): Set<string> {
  const commits = new Set<string>();
  const index = session.index();
  const numbers = index.numbersOf("custom").filter((number) => (index.detail(number) ?? TYPE) === TYPE);
  for (const { entry } of session.entriesAt(numbers)) {
    if (entry.type !== "custom" || entry.customType !== TYPE) continue;
    const { commit } = (entry.data ?? {}) as { commit?: unknown };
    if (typeof commit === "string" && COMMIT.test(commit)) commits.add(commit);
  }
  return commits;
}

export interface Bundled {
  /** Checkpoints in the bundle. 0: there is no bundle. */
  carried: number;
  /** Checkpoints whose changed files have a secret. */
  withSecrets: number;
  /** Why a checkpoint is missing. */
  reason?: string;
}

/**
 * Writes a bundle with the checkpoints that a repository has. It lacks the commits of remotes, or else the first commit: so
 * only a clone can take it.
 * @param hasSecret leaves out checkpoints whose changed files have one. Committed files are not looked at
 */
export async function bundleCheckpoints(
  commits: ReadonlySet<string>,
  { file, folders, hasSecret }: { file: string; folders: string[]; hasSecret: (text: string) => boolean },
): Promise<Bundled> {
  let reason = "their repository is not here";
  for (const cwd of folders) {
    try {
      const refs = (await refsIn(cwd)).filter(({ commit }) => commits.has(commit));
      if (refs.length === 0) continue;
      const secret = await commitsWithSecrets(cwd, refs, hasSecret);
      const names = refs.filter(({ commit }) => !secret.has(commit)).map(({ ref }) => ref);
      if (names.length > 0) {
        const known = (await git(cwd, ["rev-list", "--max-parents=0", ...names, "--not", "--remotes"]))
          .split("\n")
          .filter((root) => root !== "" && !commits.has(root));
        await git(cwd, ["bundle", "create", "--quiet", file, ...names, "--not", "--remotes", ...known]);
      }
      return {
        ...{
          carried: new Set(refs.map(({ commit }) => commit)).size - secret.size,
          withSecrets: secret.size,
        },
        ...(refs.length < commits.size && { reason: "the repository no longer has the others" }),
      };
    } catch (error) {
      reason = reasonOf(error);
    }
  }
  return { carried: 0, withSecrets: 0, reason };
}

/**
 * Adds the checkpoints of a bundle to the repository of a folder. Changes no other ref.
 * @returns how many of the commits the repository keeps now, and why it lacks others
 */
export async function unbundleCheckpoints(
  commits: ReadonlySet<string>,
  { file, cwd }: { file: string; cwd: string },
): Promise<{ restored: number; reason?: string }> {
  try {
    const wanted = heads(await git(cwd, ["bundle", "list-heads", file])).filter(
      ({ ref, commit }) => commits.has(commit) && commit.startsWith(OWN_REF.exec(ref)?.[1] ?? " "),
    );
    const quiet = ["--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules"];
    if (wanted.length > 0)
      await git(cwd, ["fetch", ...quiet, file, ...wanted.map(({ ref }) => `${ref}:${ref}`)]);
    return { restored: new Set(wanted.map(({ commit }) => commit)).size };
  } catch (error) {
    return { restored: 0, reason: reasonOf(error) };
  }
}

interface Head {
  commit: string;
  ref: string;
}

async function refsIn(cwd: string): Promise<Head[]> {
  return heads(await git(cwd, ["for-each-ref", "--format=%(objectname) %(refname)", REFS]));
}

function heads(lines: string): Head[] {
  return lines.split("\n").flatMap((line) => {
    const [commit = "", ref = ""] = line.split(" ");
    return OWN_REF.test(ref) ? [{ commit, ref }] : [];
  });
}

/** The commits whose files have a secret where they differ from their parent's. */
async function commitsWithSecrets(
  cwd: string,
  refs: readonly Head[],
  hasSecret: (text: string) => boolean,
): Promise<Set<string>> {
  const flags = ["--no-walk=unsorted", "--raw", "--no-abbrev", "--no-renames", "--format=%x00%H"];
  const log = await git(cwd, ["log", ...flags, ...refs.map(({ ref }) => ref)]);
  const isSecret = new Map<string, boolean>();
  const found = new Set<string>();
  for (const [commit = "", ...changes] of log.split("\0").map((part) => part.split("\n")))
    for (const change of changes) {
      const blob = /^:\d+ 1[02]\d+ [0-9a-f]+ ([0-9a-f]+)/.exec(change)?.[1];
      if (blob === undefined) continue;
      if (!isSecret.has(blob)) isSecret.set(blob, hasSecret(await git(cwd, ["cat-file", "blob", blob])));
      if (isSecret.get(blob) === true) found.add(commit);
    }
  return found;
}

/** Runs no hooks and starts no other program. */
const QUIET = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false"];
const MAX_OUTPUT_BYTES = 64 << 20;

async function git(cwd: string, args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("git", [...QUIET.flatMap((each) => ["-c", each]), ...args], {
    ...{ cwd, maxBuffer: MAX_OUTPUT_BYTES, env: { ...process.env, LC_ALL: "C" } },
  });
  return stdout;
}

function reasonOf(error: unknown): string {
  const { code, stderr = "" } = error as { code?: unknown; stderr?: string };
  if (code === "ENOENT") return "git is not installed, or the folder is gone";
  if (/not a git repository/.test(stderr)) return "the folder is not in a git repository";
  if (/prerequisite/.test(stderr))
    return "the repository lacks commits that they build on. Fetch them and import the file again";
  const [line] = stderr.split("\n").filter((each) => /^(?:fatal|error):/.test(each));
  return line?.replace(/^\w+: /, "") ?? messageOf(error);
}
