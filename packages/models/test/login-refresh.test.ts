import { readdirSync } from "node:fs";
import { inspect } from "node:util";
import type { OAuthFault } from "@bonsai-agent/testkit";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { ask, HOUR_MS, openLoggedIn, refreshes } from "./login-lab.ts";
import { givenCredentials } from "./login-user.ts";

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
