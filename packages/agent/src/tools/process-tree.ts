import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

/** The variable that marks every process of one command, wherever in the tree it went. */
export const PROCESS_MARK = "BONSAI_COMMAND_ID";

/** Time to end in order; long enough to flush a file, short enough for somebody who waits. */
const GRACE_MS = 1_000;
const POLL_MS = 20;
/** Each round finds what the last one's victims had just started. */
const KILL_ROUNDS = 10;

export interface ProcessTree {
  /** Of the first process, which leads a group of its own. */
  pid: number;
  /** The value of `PROCESS_MARK` in its environment. */
  mark: string;
}

/** A running process. */
interface ProcessRow {
  pid: number;
  parent: number;
  group: number;
  name: string;
}

/** Ends a command and everything it started: asked first, forced after a second. */
export async function killTree(tree: ProcessTree): Promise<void> {
  if (process.platform === "win32") return killWindowsTree(tree.pid);
  try {
    await killProcesses(tree);
  } catch {
    // Processes cannot be listed here (no /proc, no ps): the group can be ended unseen.
    await killGroup(tree.pid);
  }
}

async function killProcesses(tree: ProcessTree): Promise<void> {
  // Once seen, never lost: when a process ends, its children no longer hang on the tree.
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

/**
 * What still runs of a command: its group, the descendants of its first process and, on Linux, whatever carries its
 * mark, even after it left the group and its parents died. What is `known` to belong to it still does.
 */
export async function treeProcesses(
  { pid, mark }: ProcessTree,
  known: ReadonlySet<number> = new Set(),
): Promise<{ pid: number; name: string }[]> {
  if (process.platform === "win32") return [];
  const rows = process.platform === "linux" ? await linuxProcesses() : await posixProcesses();
  const found = new Set([pid, ...known, ...rows.filter((row) => row.group === pid).map((row) => row.pid)]);
  if (process.platform === "linux") for (const marked of await markedProcesses(rows, mark)) found.add(marked);
  for (let before = 0; before < found.size; ) {
    before = found.size;
    for (const row of rows) if (found.has(row.parent)) found.add(row.pid);
  }
  return rows.filter((row) => found.has(row.pid));
}

async function linuxProcesses(): Promise<ProcessRow[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const rows = await Promise.all(names.map(async (name) => linuxRow(await procFile(name, "stat"))));
  return rows.filter((row) => row !== undefined);
}

/** `pid (name) state parent group …`, where the name can have spaces and brackets. A zombie runs no more. */
function linuxRow(stat: string): ProcessRow | undefined {
  const match = /^(\d+) \((.*)\) (\S) (\d+) (\d+) /s.exec(stat);
  if (match === null || match[3] === "Z" || match[3] === "X") return undefined;
  return { pid: Number(match[1]), name: match[2]!, parent: Number(match[4]), group: Number(match[5]) };
}

async function markedProcesses(rows: readonly ProcessRow[], mark: string): Promise<number[]> {
  const marked = await Promise.all(
    rows.map(async ({ pid }) =>
      (await procFile(pid, "environ")).includes(`${PROCESS_MARK}=${mark}`) ? [pid] : [],
    ),
  );
  return marked.flat();
}

/** Empty for a process that has ended, or is somebody else's. @throws where the system has no file left to open it with */
async function procFile(pid: number | string, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, "latin1").catch((error: NodeJS.ErrnoException) => {
    // Nothing seen would mean that nothing runs.
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

async function killGroup(pid: number): Promise<void> {
  sendSignal(-pid, "SIGTERM");
  await delay(GRACE_MS);
  sendSignal(-pid, "SIGKILL");
}

async function killWindowsTree(pid: number): Promise<void> {
  // A tree that has ended already is what was wanted.
  await promisify(execFile)("taskkill", ["/pid", String(pid), "/T", "/F"]).catch(() => {});
}

/** A negative number means the group. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It ended since it was seen, or it took on other rights: nothing that can be done here.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}
