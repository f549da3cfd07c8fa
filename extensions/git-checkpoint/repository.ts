import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  type Stats,
  statSync,
  utimesSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { ExecResult, ExtensionAPI } from "@bonsai-agent/extension";

const REFS = "refs/bonsai/checkpoints";
/** Runs no hooks of the user, and leaves submodules alone. */
const QUIET = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false", "gc.auto=0"];
/** Leaves out the files that the write and edit tools are still writing. */
const UNFINISHED = ":(top,exclude,glob)**/.bonsai-*.tmp";
const UNDER_WAY = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];

/** The files of a repository at one moment. */
export interface Snapshot {
  commit: string;
  tree: string;
}

export interface Change {
  /** The change of the file from one snapshot to the other. */
  kind: "added" | "changed" | "deleted";
  path: string;
}

export class TooSlow extends Error {}

interface Git {
  exec: ExtensionAPI["exec"];
  /** Time limit of one call of git. */
  limitMs: number;
}

interface RepositoryOptions extends Git {
  root: string;
  /** The user's index. */
  index: string;
  /** Paths that exist during a merge or rebase, in the order of `UNDER_WAY`. */
  underWay: string[];
}

/**
 * Makes snapshots in its own index. The user's index, branch, HEAD and stash do not change.
 */
export class Repository {
  readonly #exec: ExtensionAPI["exec"];
  readonly #root: string;
  readonly #limitMs: number;
  readonly #userIndex: string;
  readonly #underWay: string[];
  readonly #folder = mkdtempSync(join(tmpdir(), "bonsai-checkpoint-"));
  /** Snapshots that this repository can keep before it lists them again. */
  #freeRefs = 0;

  constructor({ exec, root, limitMs, index, underWay }: RepositoryOptions) {
    this.#exec = exec;
    this.#root = root;
    this.#limitMs = limitMs;
    this.#userIndex = index;
    this.#underWay = underWay;
  }

  /** @returns the repository, or the reason why there is none */
  static async open({ cwd, exec, limitMs }: Git & { cwd: string }): Promise<Repository | string> {
    const gitPaths = ["index", ...UNDER_WAY].flatMap((name) => ["--git-path", name]);
    const { code, stdout, stderr } = await exec("git", ["rev-parse", ...gitPaths, "--show-toplevel"], {
      cwd,
      timeout: limitMs,
    });
    const paths = stdout.replace(/\r?\n$/, "").split(/\r?\n/);
    const root = paths.slice(UNDER_WAY.length + 1).join("\n");
    if (code === 0 && root !== "") {
      const [index, ...underWay] = paths.slice(0, UNDER_WAY.length + 1).map((path) => resolve(cwd, path));
      return new Repository({ exec, limitMs, root, index: index!, underWay });
    }
    if (stderr.includes("ENOENT")) return "git is not installed";
    return /not a git repository/i.test(stderr)
      ? "this folder is not a git repository"
      : firstLine(stderr) || "this folder is not a git work tree";
  }

  /** Writes a tree of all files except ignored ones. Returns a `problem` if a file could not be read. */
  async tree(): Promise<{ tree: string; problem?: string }> {
    if (!existsSync(this.#index)) this.#copyIndex();
    // A lock belongs to a killed git: only this class uses the index.
    rmSync(`${this.#index}.lock`, { force: true });
    let problem = await this.#addAll();
    // A file that another program removed fails once. An unreadable file fails again.
    if (problem) problem = await this.#addAll();
    // A killed git has added only some of the files.
    if (problem === "") throw new Error("git add was stopped");
    const tree = await this.#git(["write-tree"]);
    return { tree, ...(problem === undefined ? {} : { problem }) };
  }

  /** @returns git's complaint; "" if git was killed */
  async #addAll(): Promise<string | undefined> {
    const { code, stderr } = await this.#run(["add", "--all", "--ignore-errors", "--", ":/", UNFINISHED]);
    return code === 0 ? undefined : firstLine(stderr);
  }

  async commit(tree: string, message: string): Promise<Snapshot> {
    const [command, ...rest] = ["commit-tree", tree, "-m", message];
    const onHead = await this.#run([command!, "-p", "HEAD", ...rest]);
    // A repository without commits has no HEAD.
    const commit = onHead.code === 0 ? onHead.stdout.trim() : await this.#git([command!, ...rest]);
    return { commit, tree };
  }

  /** Protects a snapshot from git's garbage collection, and releases the oldest ones beyond `keep`. */
  async keep({ commit }: Snapshot, session: string, keep: number): Promise<void> {
    const name = `${Date.now()}-${commit.slice(0, 12)}`;
    await this.#git(["update-ref", `${REFS}/${session.replaceAll(/[^\w-]/g, "-")}/${name}`, commit, ""]);
    if (this.#freeRefs > 0) {
      this.#freeRefs -= 1;
      return;
    }
    const refs = (await this.#git(["for-each-ref", "--format=%(refname)", REFS])).split("\n");
    const time = (ref: string) => Number.parseInt(ref.slice(ref.lastIndexOf("/") + 1), 10);
    const oldest = refs.toSorted((one, other) => time(one) - time(other)).slice(0, -keep);
    for (const ref of oldest.slice(0, 50)) await this.#run(["update-ref", "-d", ref]);
    this.#freeRefs = keep - refs.length;
  }

  /** Lists the changes from one tree to the other; undefined if one of them no longer exists. */
  async changes(from: string, to: string): Promise<Change[] | undefined> {
    const flags = ["-r", "-z", "--no-renames", "--name-status"];
    const { code, stdout } = await this.#run(["diff-tree", ...flags, from, to]);
    if (code !== 0) return undefined;
    const fields = stdout.split("\0");
    const kinds: Record<string, Change["kind"]> = { A: "added", D: "deleted" };
    return Array.from({ length: Math.floor(fields.length / 2) }, (_, at) => ({
      kind: kinds[fields[2 * at]!] ?? "changed",
      path: fields[2 * at + 1]!,
    }));
  }

  /** The user's merge or rebase under way: no files may change then. */
  underWay(): string | undefined {
    const found = this.#underWay.findIndex((path) => existsSync(path));
    return found === -1
      ? undefined
      : UNDER_WAY[found]!.toLowerCase()
          .replace(/[_-](?:head|merge|apply)$/, "")
          .replace("_", "-");
  }

  /**
   * Makes the changes from one tree to the other, or none of them. Ignored files stay.
   * @throws Error if a file differs from `from`, or an ignored file would be overwritten
   */
  async exchange(from: string, to: string, changes: readonly Change[]): Promise<void> {
    const inTheWay = obstacle(this.#root, changes);
    if (inTheWay !== undefined) throw new Error(`git ignores ${inTheWay}, and restoring would overwrite it`);
    await this.#git(["read-tree", "-m", "-u", from, to]);
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #index(): string {
    return join(this.#folder, "index");
  }

  /** Starts from the user's index, so that git reads only changed files. */
  #copyIndex(): void {
    if (!existsSync(this.#userIndex)) return;
    const { atime, mtime } = statSync(this.#userIndex);
    copyFileSync(this.#userIndex, this.#index);
    // Git reads files again that are as young as their index.
    utimesSync(this.#index, atime, mtime);
  }

  async #git(args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.#run(args);
    if (code === 0) return stdout.replace(/\r?\n$/, "");
    throw new Error(`git ${args[0]} failed: ${firstLine(stderr) || `exit code ${code}`}`);
  }

  async #run(args: string[]): Promise<ExecResult> {
    const isIndexed = /^(?:add|write-tree|read-tree)$/.test(args[0]!);
    const result = await this.#exec("git", [...QUIET.flatMap((setting) => ["-c", setting]), ...args], {
      cwd: this.#root,
      timeout: this.#limitMs,
      env: {
        LC_ALL: "C",
        GIT_AUTHOR_NAME: "Bonsai",
        GIT_AUTHOR_EMAIL: "bonsai@localhost",
        GIT_COMMITTER_NAME: "Bonsai",
        GIT_COMMITTER_EMAIL: "bonsai@localhost",
        ...(isIndexed ? { GIT_INDEX_FILE: this.#index } : {}),
      },
    });
    if (result.killed) throw new TooSlow(`git ${args[0]} took longer than ${this.#limitMs / 1_000} s`);
    return result;
  }
}

/** An ignored file that git would overwrite: at the path of an added file, or of its folder. */
function obstacle(root: string, changes: readonly Change[]): string | undefined {
  const deleted = new Set(changes.flatMap(({ kind, path }) => (kind === "deleted" ? [path] : [])));
  const comes = changes.filter(({ kind }) => kind === "added").map(({ path }) => path);
  const folders = new Set(
    comes.flatMap((path) =>
      path.split("/").flatMap((_, at, parts) => (at === 0 ? [] : [parts.slice(0, at).join("/")])),
    ),
  );
  const files = [...folders].filter((path) => stateOf(join(root, path))?.isDirectory() === false);
  return [...files, ...comes.flatMap((path) => filesAt(root, path))].find((path) => !deleted.has(path));
}

/** Undefined if there is no such file. */
function stateOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (/^(?:ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

function filesAt(root: string, path: string): string[] {
  const found = stateOf(join(root, path));
  if (found === undefined) return [];
  if (!found.isDirectory()) return [path];
  return readdirSync(join(root, path)).flatMap((name) => filesAt(root, `${path}/${name}`));
}

function firstLine(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !/^(?:warning|hint):/.test(line));
  return (lines[0] ?? "").replace(/^(?:error|fatal): /, "");
}
