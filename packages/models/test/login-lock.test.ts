import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { KeyFile } from "../src/keys/keys.ts";
import { oauthLogin } from "../src/login.ts";
import { ask, HOUR_MS, openLoggedIn, refreshes } from "./login-lab.ts";
import type { LoginLab } from "./login-user.ts";

describe("a file that cannot be written", () => {
  /** Its name leaves no room for that of the file that takes its place: it can be read, and not replaced. */
  const seal = ({ home }: LoginLab) => {
    const [file, target] = [join(home, "auth.json"), join(home, "x".repeat(240))];
    renameSync(file, target);
    symlinkSync(target, file);
    return () => renameSync(target, file);
  };

  test("keeps a refresh from being asked for: the refresh token stays good", async () => {
    const lab = await openLoggedIn(-1);
    const mend = seal(lab);
    expect((await ask(lab)).failure).toMatchObject({ code: "keys_unwritable", retryable: false });
    expect(refreshes(lab)).toBe(0);
    expect(readdirSync(lab.home)).toHaveLength(2);
    mend();
    expect((await ask(lab)).text).toBe("You are logged in.");
    expect(refreshes(lab)).toBe(1);
  });
});

test("a logout during a refresh stands", async () => {
  const lab = await openLoggedIn(-1);
  lab.keys.logins.add("lab", {
    ...lab.login,
    refreshToken: async (...args) => {
      const fresh = await lab.login.refreshToken(...args);
      lab.keys.remove("lab");
      return fresh;
    },
  });
  await ask(lab);
  expect(lab.stored().lab).toBeUndefined();
});

describe("the lock of a refresh", () => {
  const owner = (change: object) =>
    JSON.stringify({ token: "t", pid: process.pid, host: hostname(), at: Date.now(), ...change });

  test("a stale lock is broken", () =>
    everyRow<[string, () => string]>([
      // The largest that Linux gives is 2 ** 22.
      ["of a process that is gone", () => owner({ pid: 2 ** 22 + 1 })],
      ["that is older than any refresh", () => owner({ at: Date.now() - HOUR_MS })],
      ["that comes from the future", () => owner({ at: Date.now() + HOUR_MS })],
    ])(async ([, text]) => {
      const lab = await openLoggedIn(-1);
      writeFileSync(join(lab.home, "auth.json.lab.lock"), text());
      expect((await ask(lab)).text).toBe("You are logged in.");
      expect(readdirSync(lab.home)).toEqual(["auth.json"]);
    }));

  test("a lock that may be alive is waited for, until an abort", () =>
    everyRow<[string, object]>([
      ["of a process that lives", {}],
      ["of another machine", { host: "elsewhere", pid: 2 ** 22 + 1 }],
    ])(async ([, change]) => {
      const lab = await openLoggedIn(-1);
      const path = join(lab.home, "auth.json.lab.lock");
      writeFileSync(path, owner(change));
      const controller = new AbortController();
      const answer = ask(lab, controller.signal);
      controller.abort();
      expect((await answer).message.stopReason).toBe("aborted");
      expect(existsSync(path)).toBe(true);
      expect(refreshes(lab)).toBe(0);
    }));
});

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

test("a login that is added later is used at once", async () => {
  const lab = await openLoggedIn(HOUR_MS);
  const keys = new KeyFile({ home: lab.home, env: {} });
  expect(keys.key(lab.model)).toBeUndefined();
  const remove = keys.logins.add("lab", oauthLogin(lab.options));
  expect(keys.key(lab.model)).toBe(lab.credentials.access);
  remove();
  expect(keys.key(lab.model)).toBeUndefined();
});
