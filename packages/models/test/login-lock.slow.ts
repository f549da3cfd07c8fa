import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openLoggedIn, refreshes } from "./login-lab.ts";
import type { LoginLab } from "./login-user.ts";

const PROGRAM = fileURLToPath(new URL("login-process.ts", import.meta.url));

/** Processes of their own, which begin to refresh together, in one place after the other. @returns their keys, by place */
async function inProcesses(labs: readonly LoginLab[], count: number): Promise<string[][]> {
  const places = labs.flatMap(({ home, server }) => [home, server.url]);
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, ["--conditions=@bonsai-agent/source", "--no-warnings", PROGRAM, ...places], {
      stdio: ["pipe", "pipe", "inherit"],
    }),
  );
  await Promise.all(children.map((child) => once(child.stdout, "data")));
  const outputs = children.map(async (child) => (await child.stdout.toArray()).join("").split("\n"));
  for (const child of children) child.stdin.end("go");
  const keys = await Promise.all(outputs);
  return labs.map((_, at) => keys.map((lines) => lines[at]!));
}

test("two processes refresh once, even with a dead process's lock, and keep each other's logins", async () => {
  const [lab, locked] = [await openLoggedIn(-1), await openLoggedIn(-1)];
  const left = { token: "t", pid: 2 ** 22 + 1, host: hostname(), at: Date.now() };
  writeFileSync(join(locked.home, "auth.json.lab.lock"), JSON.stringify(left));
  const keys = await inProcesses([lab, locked], 2);
  for (const [at, each] of [lab, locked].entries()) {
    expect(refreshes(each)).toBe(1);
    expect(Object.keys(each.stored())).toHaveLength(2 + 2 * 10);
    expect(new Set(keys[at])).toEqual(new Set([each.stored().lab!.access]));
    expect(readdirSync(each.home)).toEqual(["auth.json"]);
  }
});
