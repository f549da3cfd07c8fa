import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProgram } from "@bonsai-agent/extension";
import { expect, test, vi } from "vitest";

const node = (script: string) =>
  startProgram({
    command: process.execPath,
    args: ["-e", script],
    cwd: tmpdir(),
    env: { PATH: process.env.PATH, SAID: "hello" },
  });

async function firstText(program: Awaited<ReturnType<typeof node>>): Promise<string> {
  const [bytes] = (await once(program.stdout, "data")) as [Buffer];
  return bytes.toString();
}

/** A zombie does not run. */
function isRunning(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return /^[^Z\s]/.test(stdout.trim());
}

test("a running program answers, in its own environment", async () => {
  const program = await node(
    "process.stdin.on('data', (text) => console.log(process.env.SAID, process.env.HOME, String(text)))",
  );
  program.stdin.write("there");
  expect(await firstText(program)).toBe("hello undefined there\n");
  await program.end();
  expect(isRunning(program.pid!)).toBe(false);
});

test("a program that ends with its input ends by itself", async () => {
  const program = await node("process.stdin.on('end', () => process.exit(7)).resume()");
  await program.end();
  expect(await program.ended).toBe(7);
});

test("a program that does not end is killed with its children", async () => {
  const program = await node(`
    process.on("SIGTERM", () => {});
    const { spawn } = require("node:child_process");
    const inner = "process.on('SIGTERM', () => {}); console.log(process.pid); setInterval(() => {}, 1e6)";
    spawn(process.execPath, ["-e", inner], { stdio: ["ignore", "inherit", "ignore"], detached: true });
    setInterval(() => {}, 1e6);
  `);
  const inner = Number(await firstText(program));
  expect(isRunning(inner)).toBe(true);
  await Promise.all([program.end(), program.end()]);
  expect(await program.ended).toBeNull();
  expect(isRunning(inner)).toBe(false);
});

test("a failed start names the reason", async () => {
  const started = startProgram({ command: "bonsai-no-such-program", args: [], cwd: tmpdir(), env: {} });
  await expect(started).rejects.toMatchObject({ code: "process_not_started" });
});

test.skipIf(process.platform === "win32")(
  "a program that does not end is killed after its host was killed",
  async () => {
    const script = `
    import { flushCompileCache } from "node:module";
    import { startProgram } from "@bonsai-agent/extension";
    // Write the compile cache now: a killed process writes none for the next one.
    flushCompileCache();
    const inner = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)";
    const program = await startProgram({ command: process.execPath, args: ["-e", inner], cwd: "/", env: {} });
    console.log(program.pid);
  `;
    const args = ["--conditions=@bonsai-agent/source", "--no-warnings", "--input-type=module", "-e", script];
    const host = spawn(process.execPath, args, {
      cwd: import.meta.dirname,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(host.stdout, "data")) as [Buffer];
    const pid = Number(line);
    expect(isRunning(pid)).toBe(true);
    host.kill("SIGKILL");
    try {
      await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 30_000 });
    } finally {
      if (isRunning(pid)) process.kill(pid, "SIGKILL");
    }
  },
);

test("keeps the output of a program that ends at once", async () => {
  const said = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const program = await startProgram({ command: "/bin/sh", args: ["-c", "echo no"], cwd: "/", env: {} });
      const text = program.stdout.toArray();
      await program.ended;
      await program.end();
      return String(await text.catch(() => "cut off"));
    }),
  );
  expect(new Set(said)).toEqual(new Set(["no\n"]));
});

test("on Windows, cmd.exe starts a script such as npx, with escaped arguments", () => {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-cmd-"));
  const shell = join(folder, "cmd");
  writeFileSync(shell, `#!/bin/sh\nprintf '%s\\n' "$@"\n`, { mode: 0o755 });
  const script = `
    const { startProgram } = await import("@bonsai-agent/extension");
    Object.defineProperty(process, "platform", { value: "win32" });
    const args = ["-y", "a b", "x&calc"];
    const program = await startProgram({ command: "npx", args, cwd: process.cwd(), env: { PATH: process.env.PATH } });
    for await (const bytes of program.stdout) process.stdout.write(bytes);
  `;
  // In a separate process, because the platform is cached.
  const { stdout } = spawnSync(
    process.execPath,
    ["--conditions=@bonsai-agent/source", "--no-warnings", "--input-type=module", "-e", script],
    { cwd: import.meta.dirname, env: { ...process.env, comspec: shell }, encoding: "utf8" },
  );
  rmSync(folder, { recursive: true });
  expect(stdout).toBe('/d\n/s\n/c\n"npx ^"-y^" ^"a^ b^" ^"x^&calc^""\n');
});
