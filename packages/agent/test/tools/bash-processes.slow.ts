import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, watch, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import type { BashDetails } from "../../src/tools/bash-tool.ts";
import { findShell, programPath } from "../../src/tools/process.ts";
import { isRunning } from "./is-running.ts";
import { textOf, toolFolder } from "./tool-folder.ts";

/** Prints its id, is deaf to SIGTERM, and never ends. */
const stubborn = "trap '' TERM; echo pid $$; while :; do sleep 1000; done";

/** The same in a session and group of its own. */
const apart = `${process.execPath} -e 'require("child_process").spawn("bash", ["-c", process.argv[1]], { detached: true, stdio: "inherit" })' "${stubborn.replaceAll("$", "\\$")}"`;

/** Only Linux shows the origin of an orphan in its own process group. */
const started = [
  `bash -c "${stubborn.replaceAll("$", "\\$")}" &`,
  `${apart} &`,
  `(bash -c "${stubborn.replaceAll("$", "\\$")}" &);`,
  ...(process.platform === "linux" ? [`(setsid ${apart} &);`] : []),
];

describe("an end by force", () => {
  test("an abort ends a command that ignores SIGTERM, its children, their own process groups, and orphans", async () => {
    using folder = toolFolder();
    const abort = new AbortController();
    const pids = new Set<number>();
    const onUpdate = (text: string) => {
      for (const match of text.matchAll(/^pid (\d+)$/gm)) pids.add(Number(match[1]));
      if (pids.size === started.length + 1) abort.abort();
    };
    const command = `${started.join(" ")} ${stubborn}`;
    const result = await folder.run("bash", { command }, { signal: abort.signal, onUpdate });
    expect(textOf(result)).toMatch(
      /\[The user stopped the command and all its processes after [\d.]+ s\.\]$/,
    );
    expect(result.isError).toBe(true);
    expect([...pids].filter(isRunning)).toEqual([]);
  });

  test("a command that ends in order at SIGTERM gets to do so", async () => {
    using folder = toolFolder();
    const abort = new AbortController();
    const command = "trap 'echo tidied; exit' TERM; echo ready; sleep 1000 & wait";
    const onUpdate = () => abort.abort();
    const result = await folder.run("bash", { command }, { signal: abort.signal, onUpdate });
    expect(textOf(result)).toContain("ready\ntidied\n");
  });

  test("a time limit ends it with all it started, and the output so far is there", async () => {
    using folder = toolFolder();
    const result = await folder.run("bash", { command: stubborn, timeout: 0.5 });
    const pid = Number(/pid (\d+)/.exec(textOf(result))?.[1]);
    expect(textOf(result)).toContain(
      "[Timed out after 0.5 s: the command and all its processes were stopped.",
    );
    expect(isRunning(pid)).toBe(false);
    expect(result.details).toMatchObject({ end: "timeout" });
  });

  test("the limit of the settings holds where a call gives none", async () => {
    using folder = toolFolder({ bash: { timeoutSeconds: 0.2 } });
    const result = await folder.run("bash", { command: "sleep 1000" });
    expect(textOf(result)).toContain("[Timed out after 0.2 s");
  });
});

describe("a process in the background", () => {
  /** Until then it still has the name of the shell. */
  const untilNamed = (name: string) => `until ps -o comm= -p $! | grep -q ${name}; do :; done`;

  test("does not hold up the result, is named, and goes on", async () => {
    using folder = toolFolder();
    const result = await folder.run("bash", { command: `sleep 1000 & ${untilNamed("sleep")}; echo $!` });
    const pid = Number(textOf(result).split("\n")[0]);
    expect(textOf(result)).toContain(`[Still running in the background: ${pid} (sleep).`);
    expect([result.isError, isRunning(pid)]).toEqual([false, true]);
    process.kill(pid);
  });

  test("with endless output does not delay the result", async () => {
    using folder = toolFolder();
    const result = await folder.run("bash", { command: `yes & ${untilNamed("yes")}` });
    const { background, fullOutputPath } = result.details as BashDetails;
    expect(background.map(({ name }) => name)).toEqual(["yes"]);
    for (const { pid } of background) process.kill(pid);
    if (fullOutputPath !== undefined) rmSync(fullOutputPath);
  });

  test("can still write after the result", async () => {
    using folder = toolFolder();
    execFileSync("mkfifo", [join(folder.path, "gate")]);
    mkdirSync(join(folder.path, "out"));
    const made = new Promise((resolve) => watch(join(folder.path, "out"), resolve).unref());
    await folder.run("bash", { command: "(read x < gate; echo late && touch out/done) &" });
    writeFileSync(join(folder.path, "gate"), "go\n");
    await made;
    expect(existsSync(join(folder.path, "out", "done"))).toBe(true);
  });
});

describe("the shell", () => {
  test("like every program, is not looked for in relative folders, which could be the project's", () => {
    using folder = toolFolder();
    chmodSync(folder.write("bin/rg", ""), 0o755);
    const bin = join(folder.path, "bin");
    expect(programPath("rg", { PATH: relative(process.cwd(), bin) })).toBeUndefined();
    expect(programPath("rg", { PATH: bin })).toBe(join(bin, "rg"));
  });

  test("on Windows is that of Git, or a clear refusal", () => {
    using folder = toolFolder();
    expect(() => findShell({}, "win32")).toThrow("On Windows, install Git for Windows");
    const bash = folder.write("Git/bin/bash.exe", "");
    execFileSync("chmod", ["+x", bash]);
    expect(findShell({ ProgramFiles: folder.path }, "win32")).toBe(bash);
  });
});
