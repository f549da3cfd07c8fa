import { existsSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
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

test("a login that is added later is used at once", async () => {
  const lab = await openLoggedIn(HOUR_MS);
  const keys = new KeyFile({ home: lab.home, env: {} });
  expect(keys.key(lab.model)).toBeUndefined();
  const remove = keys.logins.add("lab", oauthLogin(lab.options));
  expect(keys.key(lab.model)).toBe(lab.credentials.access);
  remove();
  expect(keys.key(lab.model)).toBeUndefined();
});
