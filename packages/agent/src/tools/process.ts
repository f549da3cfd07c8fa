import { type ChildProcess, execFile, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { accessSync, closeSync, constants, existsSync, openSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { devNull } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { BonsaiError } from "@bonsai-agent/messages";

/** Files that a start opens for its pipes, and one or two more. */
const FILES_OF_A_START = 10;

interface ProcessToStart extends SpawnOptions {
  command: string;
  args: readonly string[];
}

/** Reasons why the system starts no process, with advice. */
const refusals: Readonly<Record<string, readonly [why: string, hint: string]>> = {
  EMFILE: [
    "this process has too many files open",
    "Run fewer commands at once, or raise the limit with `ulimit -n`.",
  ],
  ENFILE: ["too many files are open on this machine", "Close other programs and try again."],
  EAGAIN: [
    "the system's limit of processes is reached",
    "Stop some processes and try again. `ulimit -u` shows the limit.",
  ],
  ENOMEM: ["not enough memory for another process", "Close other programs and try again."],
  ENOENT: ["the program was not found", "Install it, or check the PATH."],
  EACCES: ["permission denied", "Check the permissions of the program and of the working folder."],
  EPERM: ["the system does not allow it", "Check the permissions of the program and of the working folder."],
  E2BIG: [
    "the arguments and the environment are longer than the system allows",
    "Write long arguments to a file and pass the file's name.",
  ],
  ENOEXEC: ["the program was built for a different machine", "Install the version for this machine."],
  ENOTDIR: ["a part of its path is a file, not a folder", "Check the PATH and the working folder."],
};

/**
 * Starts a process, and resolves when it has started. Errors of its streams cannot end this process.
 * @throws BonsaiError `process_not_started`; its `cause` has the system's code
 */
export async function startProcess({ command, args, ...options }: ProcessToStart): Promise<ChildProcess> {
  try {
    requireFiles();
    const child = spawn(command, args, options);
    // An error without a listener would end this process.
    for (const source of [child, child.stdin, child.stdout, child.stderr]) source?.on("error", () => {});
    await once(child, "spawn");
    return child;
  } catch (cause) {
    throw notStarted(command, options.cwd, cause);
  }
}

/** A start that fails for lack of files would leak the files that it has opened. */
function requireFiles(): void {
  const opened: number[] = [];
  try {
    while (opened.length < FILES_OF_A_START) opened.push(openSync(devNull, "r"));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

function notStarted(command: string, cwd: SpawnOptions["cwd"], cause: unknown): BonsaiError {
  const code = (cause as NodeJS.ErrnoException).code ?? "";
  const [why, hint] =
    code === "ENOENT" && cwd !== undefined && !existsSync(cwd)
      ? [`the working folder ${String(cwd)} does not exist`, "Start in an existing folder."]
      : (refusals[code] ?? [(cause as Error).message, "Fix the cause and try again."]);
  return new BonsaiError({
    code: "process_not_started",
    message: `Cannot start ${command}: ${why}${refusals[code] === undefined ? "" : ` (${code})`}.`,
    hint,
    cause,
  });
}

/** The variable that marks every process of one command. */
const PROCESS_MARK = "BONSAI_COMMAND_ID";

/** The environment variable with the call of a command. It identifies the processes after a crash; process ids repeat. */
const CALL_MARK = "BONSAI_CALL_ID";

/** Time to end in order: enough to flush a file. */
const GRACE_MS = 1_000;
const POLL_MS = 20;
/** Each round finds the processes that were started before the last one. */
const KILL_ROUNDS = 10;

/** A program with all processes that it starts. */
export interface ProcessTree {
  /** The first process, which leads a group of its own. */
  child: ChildProcess;
  /** The running processes. */
  processes(): Promise<RunningProcess[]>;
  /** Ends all processes: SIGTERM first, SIGKILL after a second. */
  kill(): Promise<void>;
  /** Call it when the program has ended: `killRunningCommands` no longer ends it. */
  forget(): void;
}

/** Starts a program in a group of its own and marks its processes. @throws BonsaiError `process_not_started` */
export async function startTree(options: ProcessToStart): Promise<ProcessTree> {
  const mark = randomUUID();
  const child = await startProcess({
    ...options,
    env: { ...options.env, [PROCESS_MARK]: mark },
    // A group and a session of its own, without a terminal.
    detached: process.platform !== "win32",
    windowsHide: true,
  });
  const tree = { pid: child.pid!, mark };
  running.add(tree.pid);
  return {
    child,
    processes: () => treeProcesses(tree),
    kill: () => killTree(tree),
    forget: () => void running.delete(tree.pid),
  };
}

export interface RunningProcess {
  pid: number;
  name: string;
}

/** The ids of the running processes. The name detects a reused id. Empty on Windows. */
export async function runningProcesses(known: readonly RunningProcess[]): Promise<ReadonlySet<number>> {
  if (known.length === 0 || process.platform === "win32") return new Set();
  const rows = await allProcesses().catch(() => []);
  const names = new Map(rows.map(({ pid, name }) => [pid, name]));
  return new Set(known.filter(({ pid, name }) => names.get(pid) === name).map(({ pid }) => pid));
}

/** Marks the processes of a call, for `survivingProcesses`. */
export function callEnvironment(callId: string): NodeJS.ProcessEnv {
  return { [CALL_MARK]: callId };
}

/** The processes of a call that survived the program's end. Empty except on Linux. */
export async function survivingProcesses(callId: string): Promise<RunningProcess[]> {
  if (process.platform !== "linux") return [];
  const rows = await linuxProcesses();
  const marked = new Set(await markedProcesses(rows, callId, CALL_MARK));
  return rows.filter(({ pid }) => marked.has(pid)).map(({ pid, name }) => ({ pid, name }));
}

interface MarkedTree {
  pid: number;
  /** The value of `PROCESS_MARK` in its environment. */
  mark: string;
}

interface ProcessRow extends RunningProcess {
  parent: number;
  group: number;
}

async function killTree(tree: MarkedTree): Promise<void> {
  if (process.platform === "win32") {
    // It fails for a tree that has already ended.
    await promisify(execFile)("taskkill", ["/pid", String(tree.pid), "/T", "/F"]).catch(() => {});
    return;
  }
  try {
    await killProcesses(tree);
  } catch {
    // Without /proc and ps, only the group is known.
    sendSignal(-tree.pid, "SIGTERM");
    await delay(GRACE_MS);
    sendSignal(-tree.pid, "SIGKILL");
  }
}

async function killProcesses(tree: MarkedTree): Promise<void> {
  // When a process ends, its children leave the tree.
  const seen = new Set<number>();
  const deadline = performance.now() + GRACE_MS;
  let rows = await treeProcesses(tree, seen);
  while (rows.length > 0 && performance.now() < deadline) {
    for (const { pid } of rows.filter((row) => !seen.has(row.pid))) {
      sendSignal(pid, "SIGTERM");
      seen.add(pid);
    }
    await delay(POLL_MS);
    rows = await treeProcesses(tree, seen);
  }
  for (let round = 0; rows.length > 0 && round < KILL_ROUNDS; round += 1) {
    for (const { pid } of rows) sendSignal(pid, "SIGKILL");
    await delay(POLL_MS);
    rows = await treeProcesses(tree, seen);
  }
}

/** Processes of a command: its group, all descendants and, on Linux, all with its mark. `known` ones still belong to it. */
async function treeProcesses(
  { pid, mark }: MarkedTree,
  known: ReadonlySet<number> = new Set(),
): Promise<RunningProcess[]> {
  if (process.platform === "win32") return [];
  const rows = await allProcesses();
  const found = new Set([pid, ...known, ...rows.filter((row) => row.group === pid).map((row) => row.pid)]);
  if (process.platform === "linux") for (const marked of await markedProcesses(rows, mark)) found.add(marked);
  for (let before = 0; before < found.size; ) {
    before = found.size;
    for (const row of rows) if (found.has(row.parent)) found.add(row.pid);
  }
  return rows.filter((row) => found.has(row.pid));
}

function allProcesses(): Promise<ProcessRow[]> {
  return process.platform === "linux" ? linuxProcesses() : posixProcesses();
}

async function linuxProcesses(): Promise<ProcessRow[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const rows = await Promise.all(names.map(async (name) => linuxRow(await procFile(name, "stat"))));
  return rows.filter((row) => row !== undefined);
}

/** Parses `pid (name) state parent group …`. The name can have spaces and brackets. Skips zombies. */
function linuxRow(stat: string): ProcessRow | undefined {
  const match = /^(\d+) \((.*)\) (\S) (\d+) (\d+) /s.exec(stat);
  if (match === null || match[3] === "Z" || match[3] === "X") return undefined;
  return { pid: Number(match[1]), name: match[2]!, parent: Number(match[4]), group: Number(match[5]) };
}

async function markedProcesses(
  rows: readonly ProcessRow[],
  mark: string,
  variable = PROCESS_MARK,
): Promise<number[]> {
  const marked = await Promise.all(
    rows.map(async ({ pid }) =>
      `\0${await procFile(pid, "environ")}`.includes(`\0${variable}=${mark}\0`) ? [pid] : [],
    ),
  );
  return marked.flat();
}

/** Empty for a process that has ended or belongs to another user. @throws if no more files can be opened */
async function procFile(pid: number | string, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, "latin1").catch((error: NodeJS.ErrnoException) => {
    // An empty text would mean that nothing runs.
    if (error.code === "EMFILE" || error.code === "ENFILE" || error.code === "ENOMEM") throw error;
    return "";
  });
}

async function posixProcesses(): Promise<ProcessRow[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,pgid=,state=,comm="]);
  return stdout.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line);
    if (match === null || match[4]!.startsWith("Z")) return [];
    return [{ pid: Number(match[1]), parent: Number(match[2]), group: Number(match[3]), name: match[5]! }];
  });
}

/** @param pid negative for a group */
function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has ended, or has changed its rights.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}

/** First processes of the running commands; each leads a group. */
const running = new Set<number>();

/** Kills all running commands at once, for an exit that cannot wait. Does not reach processes that left their group. */
export function killRunningCommands(): void {
  for (const pid of running) {
    if (process.platform === "win32") spawnSync("taskkill", ["/pid", String(pid), "/T", "/F"]);
    else sendSignal(-pid, "SIGKILL");
  }
  running.clear();
}

/** The full path of a program on the PATH. Ignores relative folders: they could be in the project. */
export function programPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const folders = (env.PATH ?? env.Path ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** Returns bash, else sh. @throws Error with a sentence if there is neither */
export function findShell(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string {
  if (platform === "win32") return gitBash(env);
  const found = ["/bin/bash", "/usr/bin/bash"].find(isProgram) ?? programPath("bash", env);
  const shell = found ?? ["/bin/sh"].find(isProgram) ?? programPath("sh", env);
  if (shell === undefined) throw new Error("Found neither bash nor sh. Install one, or add it to the PATH.");
  return shell;
}

function gitBash(env: NodeJS.ProcessEnv): string {
  const own = env.LOCALAPPDATA && join(env.LOCALAPPDATA, "Programs");
  const folders = [env.ProgramFiles, env["ProgramFiles(x86)"], own];
  const installed = folders.flatMap((folder) => (folder ? [join(folder, "Git", "bin", "bash.exe")] : []));
  // The bash in System32 starts Linux, with another file system.
  const onPath = [programPath("bash.exe", env) ?? ""].filter((path) => !/\\system32\\/i.test(path));
  const shell = [...installed, ...onPath].find(isProgram);
  if (shell === undefined)
    throw new Error("Found no bash. On Windows, install Git for Windows: it includes bash.");
  return shell;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
