import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startProcess } from "../../src/host.ts";
import { toolFolder } from "./tool-folder.ts";

const program = fileURLToPath(new URL("../fixtures/no-files-left.ts", import.meta.url));

/** Between two numbers of free files. `pnpm laws` tries every number. */
const STEP = process.env.LAW_RUNS ? 1 : 4;

test("a start of a process with few free files succeeds or fails with a sentence, and works afterwards", () => {
  using folder = toolFolder();
  const node = `'${process.execPath}' --conditions=@bonsai-agent/source --no-warnings '${program}' '${folder.path}' ${STEP}`;
  const told = execFileSync("/bin/sh", ["-c", `ulimit -n 64; exec ${node}`], { encoding: "utf8" });
  const endings = told
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as [number, string, string]);
  expect(endings).toHaveLength((16 / STEP + 1) * 4);
  for (const [, , ending] of endings) {
    expect(ending).toMatch(/^ended$|Cannot start .*: this process has too many files open \(EMFILE\)\.$/);
  }
  expect(endings.slice(0, 4).map(([, , ending]) => ending)).not.toContain("ended");
  // A failed start has closed its files.
  expect(endings.slice(-4).map(([, , ending]) => ending)).toEqual(Array(4).fill("ended"));
});

const starts: [string, Parameters<typeof startProcess>[0], string][] = [
  [
    "a program that is not there",
    { command: "no-such-program", args: [] },
    "the program was not found (ENOENT)",
  ],
  [
    "a folder that is not there",
    { command: "true", args: [], cwd: "/no/such" },
    "the working folder /no/such does not",
  ],
  ["arguments that are too long", { command: "true", args: ["x".repeat(4 << 20)] }, "(E2BIG)"],
  ["a byte that no argument has", { command: "true", args: ["a\0b"] }, "without null bytes"],
];
test("a failed start is an error with a code", async () => {
  for (const [name, options, problem] of starts)
    await expect.soft(startProcess(options), name).rejects.toMatchObject({
      code: "process_not_started",
      message: expect.stringContaining(problem),
    });
});

test("a file that may not be run, and one that is a folder of the path", async () => {
  using folder = toolFolder();
  const closed = folder.write("closed", "#!/bin/sh\n");
  await expect(startProcess({ command: closed, args: [] })).rejects.toThrow("permission denied (EACCES)");
  await expect(startProcess({ command: join(closed, "x"), args: [] })).rejects.toThrow("(ENOTDIR)");
});

test("a process that ends before it has read does not end this one", async () => {
  const child = await startProcess({ command: "true", args: [], stdio: ["pipe", "ignore", "ignore"] });
  const closed = new Promise((resolve) => child.once("close", resolve));
  child.stdin!.write("x".repeat(1 << 20));
  child.stdin!.end();
  expect(await closed).toBe(0);
});
