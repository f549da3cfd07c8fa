import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import type { OAuthFault } from "@bonsai-agent/testkit";
import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { KeyFile } from "../src/keys/keys.ts";
import type { LoginCredentials } from "../src/keys/provider-login.ts";
import { oauthLogin } from "../src/login.ts";
import { finalEvent, ModelClient } from "../src/model-client.ts";
import type { ModelNotice } from "../src/model-request.ts";
import { givenCredentials, type LoginLab, loginLab } from "./login-user.ts";
import { turnOf } from "./openai-exchange.ts";

const labs: LoginLab[] = [];
afterEach(async () => {
  await Promise.all(labs.splice(0).map(({ server }) => server.close()));
});

/** A login that ends so many milliseconds from now. */
async function openLoggedIn(
  endsInMs: number,
  ...given: Parameters<typeof loginLab>
): Promise<LoginLab & { credentials: LoginCredentials }> {
  const lab = await loginLab(...given);
  labs.push(lab);
  const credentials = await givenCredentials(lab, endsInMs);
  lab.store({ lab: credentials, other: { type: "api_key", key: "k" } });
  return { ...lab, credentials };
}

/** One request; waits between its attempts are left out. */
async function ask({ keys, model }: LoginLab, signal?: AbortSignal) {
  const notices: ModelNotice[] = [];
  const client = new ModelClient({ keys, sleep: async () => {} });
  const { message, ...event } = await finalEvent(
    client.stream(turnOf(model, { signal, onNotice: (notice) => void notices.push(notice) })),
  );
  const failure = "failure" in event ? event.failure : undefined;
  return {
    text: message.content.map((each) => ("text" in each ? each.text : "")).join(""),
    message,
    failure,
    notices,
  };
}

const HOUR_MS = 3_600_000;
/** The first token was for the login itself. */
const refreshes = ({ server }: LoginLab) => server.count("token") - 1;

describe("before its end", () => {
  test("a login is used as it is", async () => {
    const lab = await openLoggedIn(HOUR_MS);
    expect((await ask(lab)).text).toBe("You are logged in.");
    expect(refreshes(lab)).toBe(0);
  });

  test.each([
    ["ends within a minute", 30_000],
    ["has ended", -HOUR_MS],
  ])("one that %s is refreshed, once for all requests, and stored", async (_name, endsInMs) => {
    const lab = await openLoggedIn(endsInMs);
    const answers = await Promise.all([ask(lab), ask(lab), ask(lab)]);
    expect(answers.map(({ text }) => text)).toEqual(Array(3).fill("You are logged in."));
    expect(refreshes(lab)).toBe(1);
    const { lab: entry, other } = lab.stored();
    expect(entry!.access).not.toBe(lab.credentials.access);
    expect(lab.server.isGood(entry!.refresh as string)).toBe(true);
    expect(other).toEqual({ type: "api_key", key: "k" });
    expect(readdirSync(lab.home)).toEqual(["auth.json"]);
  });

  test("pi's own file is read, and what it holds beside stays", async () => {
    const lab = await openLoggedIn(-1);
    lab.store({ lab: { ...lab.credentials, expires: 0, accountId: "acc", note: { a: 1 } } });
    expect((await ask(lab)).failure).toBeUndefined();
    expect(lab.stored().lab).toMatchObject({ type: "oauth", accountId: "acc", note: { a: 1 } });
  });

  test("a refresh token that does not rotate stays", async () => {
    const lab = await openLoggedIn(-1, { rotates: false });
    await ask(lab);
    expect(lab.stored().lab!.refresh).toBe(lab.credentials.refresh);
    expect(lab.stored().lab!.access).not.toBe(lab.credentials.access);
  });

  test("a login that ends too soon for the margin is not refreshed for each request", async () => {
    const lab = await openLoggedIn(-1, { expiresInSeconds: 10 });
    for (const _ of [1, 2, 3]) expect((await ask(lab)).failure).toBeUndefined();
    expect(refreshes(lab)).toBe(1);
  });

  test("a login without an end is refreshed when it is refused alone", async () => {
    const lab = await openLoggedIn(0);
    lab.store({
      lab: { type: "oauth", access: lab.credentials.access, refresh: lab.credentials.refresh, expires: null },
    });
    await ask(lab);
    expect(refreshes(lab)).toBe(0);
    lab.server.expireAccess();
    expect((await ask(lab)).failure).toBeUndefined();
    expect(refreshes(lab)).toBe(1);
  });
});

describe("on a 401", () => {
  test("a login is refreshed, and the request made again", async () => {
    const lab = await openLoggedIn(HOUR_MS);
    lab.server.expireAccess();
    const { text, notices } = await ask(lab);
    expect(text).toBe("You are logged in.");
    expect(refreshes(lab)).toBe(1);
    expect(lab.server.count("api")).toBe(2);
    expect(notices).toEqual([]);
  });

  test("on a fresh token too, the second is the error", async () => {
    const lab = await openLoggedIn(HOUR_MS);
    lab.server.fail("api", "unauthorized", "unauthorized", "unauthorized");
    const { failure } = await ask(lab);
    expect(failure).toMatchObject({ status: 401, retryable: false });
    expect(refreshes(lab)).toBe(1);
    expect(lab.server.count("api")).toBe(2);
  });

  test("a key is not asked for twice", async () => {
    const lab = await openLoggedIn(HOUR_MS);
    lab.store({ lab: { type: "api_key", key: "wrong" } });
    const { failure } = await ask(lab);
    expect(failure?.status).toBe(401);
    expect(lab.server.count("api")).toBe(1);
  });

  test("credentials that another process stored meanwhile are used without a refresh", async () => {
    const lab = await openLoggedIn(HOUR_MS);
    const fresh = await givenCredentials(lab, HOUR_MS);
    const tokens = lab.server.count("token");
    expect(await lab.keys.freshKey!(lab.model, { refused: "an older key" })).toBe(lab.credentials.access);
    lab.store({ lab: fresh });
    expect(await lab.keys.freshKey!(lab.model, { refused: lab.credentials.access })).toBe(fresh.access);
    expect(lab.server.count("token")).toBe(tokens);
  });
});

describe("a refresh that fails", () => {
  test.each<[string, OAuthFault]>([["has ended", { error: "invalid_grant", description: "expired" }]])(
    "because the login %s takes it away, and says what to do",
    async (_name, fault) => {
      const lab = await openLoggedIn(-1);
      lab.server.fail("token", fault);
      const { failure } = await ask(lab);
      expect(failure).toMatchObject({ code: "login_expired", retryable: false });
      expect(failure!.message).toMatch(
        /^The login to lab is no longer valid: .*invalid_grant: expired.*Log in again with \/login lab, or /,
      );
      expect(lab.stored()).toEqual({ other: { type: "api_key", key: "k" } });
      expect((await ask(lab)).failure).toMatchObject({
        code: "key_missing",
        message: "You are not logged in to lab (Lab). Run /login lab, or `bonsai login lab` in a shell.",
      });
      expect(lab.server.count("api")).toBe(0);
    },
  );

  test("in the words of an extension, too", async () => {
    const lab = await openLoggedIn(-1);
    const { access, refresh } = lab.credentials;
    const refreshToken = async () => {
      throw new Error(`Token refresh failed for ${refresh}: {"error":"invalid_grant","old":"${access}"}`);
    };
    lab.keys.logins.add("lab", { ...lab.login, refreshToken });
    const { failure } = await ask(lab);
    expect(failure).toMatchObject({ code: "login_expired" });
    expect(inspect(failure)).not.toContain(access);
    expect(inspect(failure)).not.toContain(refresh);
  });

  test("a broken answer leaves the login as it is, and the request is tried again", () =>
    everyRow<OAuthFault>([
      "drop",
      "malformed",
      "page",
      "server-error",
      "wrong-token-type",
      "no-access-token",
    ])(async (fault) => {
      const lab = await openLoggedIn(-1, { rotates: false });
      lab.server.fail("token", fault, fault);
      const { text, notices } = await ask(lab);
      expect(text).toBe("You are logged in.");
      const retries = notices.filter(({ type }) => type === "retry");
      expect(retries).toHaveLength(2);
      expect(inspect(notices, { depth: null })).not.toMatch(/access-[\da-f]{8}|refresh-[\da-f]{8}/);
    }));

  test("for good leaves it as it is: an error that says so", async () => {
    const lab = await openLoggedIn(-1);
    lab.server.fail("token", ...Array(10).fill("server-error"));
    const { failure } = await ask(lab);
    expect(failure).toMatchObject({ code: "login_refresh_failed", retryable: true });
    expect(failure!.message).toMatch(/^Could not refresh the login to lab: The login server of Lab failed/);
    expect(lab.stored().lab).toEqual(lab.credentials);
  });

  test("a refresh by a client that the provider does not know is not repeated", async () => {
    const lab = await openLoggedIn(-1);
    lab.server.fail("token", { error: "invalid_client" });
    const { failure } = await ask(lab);
    expect(failure).toMatchObject({ code: "login_refused", retryable: false });
    expect(lab.stored().lab).toEqual(lab.credentials);
  });

  test("in a way that repeats the tokens shows none of them", async () => {
    const lab = await openLoggedIn(-1);
    const { access, refresh } = lab.credentials;
    const description = `${refresh} came for ${access}`;
    lab.server.fail("token", { error: "invalid_request", description });
    const { failure, message } = await ask(lab);
    expect(failure).toMatchObject({ code: "login_refused", retryable: false });
    expect(message.errorMessage).toContain(
      "invalid_request: [redacted: stored key] came for [redacted: stored key]",
    );
    expect(inspect({ failure, message })).not.toMatch(/access-[\da-f]{8}|refresh-[\da-f]{8}/);
  });

  test("with nothing to refresh it by, the login has ended", async () => {
    const lab = await openLoggedIn(-1);
    lab.store({ lab: { ...lab.credentials, refresh: "" } });
    expect((await ask(lab)).failure).toMatchObject({ code: "login_expired" });
    expect(lab.stored()).toEqual({});
  });
});

test("an abort ends the wait, not the refresh: what it brings is stored", async () => {
  const lab = await openLoggedIn(-1);
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
  lab.keys.logins.add("lab", {
    ...lab.login,
    refreshToken: async (...args) => {
      asked();
      await mayAnswer;
      return lab.login.refreshToken(...args);
    },
  });
  const controller = new AbortController();
  const aborted = ask(lab, controller.signal);
  await isAsked;
  controller.abort();
  expect((await aborted).message.stopReason).toBe("aborted");
  const after = ask(lab);
  answer();
  expect((await after).text).toBe("You are logged in.");
  expect(refreshes(lab)).toBe(1);
  expect(lab.server.isGood(lab.stored().lab!.access as string)).toBe(true);
});

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

test("a user who has only keys loads no part of the login", () => {
  const entry = new URL("../src/index.ts", import.meta.url).href;
  const program = `
    import { registerHooks } from "node:module";
    const seen = [];
    registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
    const { KeyFile } = await import(${JSON.stringify(entry)});
    const keys = new KeyFile({ home: "/nonexistent", env: { LAB_KEY: "key" } });
    const key = await keys.freshKey({ provider: "lab", api: "openai-chat", baseUrl: "https://lab.example", apiKeyEnv: "LAB_KEY" });
    const loaded = seen.map((url) => /oauth4webapi|(?<=models\\/src\\/keys\\/).*$/.exec(url)?.[0]).filter(Boolean);
    console.log(key, JSON.stringify(loaded.toSorted()));`;
  const options = [
    "--conditions=@bonsai-agent/source",
    "--input-type=module",
    "--no-warnings",
    "--eval",
    program,
  ];
  expect(execFileSync(process.execPath, options, { encoding: "utf8" }).trim()).toBe(
    'key ["auth-file.ts","keys.ts","login-registry.ts","provider-login.ts","secrets.ts"]',
  );
});
