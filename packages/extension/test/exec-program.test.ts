import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { BoundedText, execProgram } from "../src/host/exec-program.ts";

const cwd = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-exec-")));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));
const shell = (script: string, options = {}) => execProgram("/bin/sh", ["-c", script], { cwd, ...options });

test("returns output, errors and exit code, and runs in the folder", async () => {
  const result = await shell("pwd; echo oh >&2; exit 3");
  expect(result).toEqual({ stdout: `${cwd}\n`, stderr: "oh\n", code: 3, killed: false });
});

test("passes arguments unchanged, without a shell", async () => {
  const { stdout } = await execProgram("echo", ["$HOME; echo `id` *"], { cwd });
  expect(stdout).toBe("$HOME; echo `id` *\n");
});

test("adds variables to the environment, or removes them", async () => {
  vi.stubEnv("BONSAI_EXEC_TEST", "here");
  const script = `echo "\${BONSAI_EXEC_TEST-none} \${OWN-none} \${PATH:+path}"`;
  expect((await shell(script, { env: { OWN: "mine" } })).stdout).toBe("here mine path\n");
  expect((await shell(script, { env: { BONSAI_EXEC_TEST: undefined } })).stdout).toBe("none none path\n");
  vi.unstubAllEnvs();
});

test("closes the input", async () => {
  expect((await shell("cat; echo end")).stdout).toBe("end\n");
});

test("a missing program or an invalid argument is a result", async () => {
  const missing = await execProgram("no-such-program-at-all", [], { cwd });
  expect(missing).toMatchObject({ code: 1, killed: false, stderr: expect.stringContaining("ENOENT") });
  const nul = await execProgram(process.execPath, ["a\0b"], { cwd });
  expect(nul).toMatchObject({ code: 1, killed: false, stderr: expect.stringContaining("null bytes") });
});

test("a missing folder is a result", async () => {
  expect(await execProgram("ls", [], { cwd: join(cwd, "none") })).toMatchObject({ code: 1, killed: false });
});

test("an aborted signal starts nothing", async () => {
  const result = await shell("touch started", { signal: AbortSignal.abort() });
  expect(result).toEqual({ stdout: "", stderr: "", code: 1, killed: true });
  expect(() => readFileSync(join(cwd, "started"))).toThrow("ENOENT");
});

test("an abort ends the program and its children", async () => {
  const stop = new AbortController();
  const script = `sleep 1000 & echo $! > pid; kill -USR2 ${process.pid}; wait; sleep 1000`;
  process.once("SIGUSR2", () => stop.abort());
  const result = await shell(script, { signal: stop.signal });
  expect(result).toMatchObject({ code: 1, killed: true });
  const pid = Number(readFileSync(join(cwd, "pid"), "utf8"));
  // A process that has ended, or only waits to be collected, runs no more.
  const state = () => {
    try {
      return /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    } catch {
      return "gone";
    }
  };
  await expect.poll(state).toMatch(/^(?:Z|X|gone)$/);
});

test("a program that ignores SIGTERM is killed", async () => {
  const result = await shell("trap '' TERM; while :; do sleep 1000; done", { timeout: 300 });
  expect(result).toMatchObject({ code: 1, killed: true });
});

test("does not wait for a background process that keeps the output open", async () => {
  const { stdout, killed } = await shell("sleep 1000 & echo $!");
  expect(killed).toBe(false);
  process.kill(Number(stdout), "SIGKILL");
});

test("keeps the characters of an output that comes in pieces", async () => {
  const script =
    "for (const byte of Buffer.from('a€𝄞é')) { process.stdout.write(Buffer.of(byte)); await 0; }";
  const { stdout } = await execProgram(process.execPath, ["--input-type=module", "-e", script], { cwd });
  expect(stdout).toBe("a€𝄞é");
});

test("keeps the start and the end of a long output, and all of a shorter one", () => {
  const text = new BoundedText(21);
  for (let count = 0; count < 1_000; count += 1) text.push("𝄞");
  expect(text.toString()).toBe(`${"𝄞".repeat(5)}\n[… 3,960 bytes omitted …]\n${"𝄞".repeat(5)}`);
  const short = new BoundedText(10);
  for (const piece of ["0123456", "789"]) short.push(piece);
  expect(short.toString()).toBe("0123456789");
});
