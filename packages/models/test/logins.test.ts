import { existsSync, readdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { OAuthFault } from "@bonsai-agent/testkit";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isReachable } from "../src/model.ts";
import { open } from "./login-lab.ts";
import { type LoginUser, loginUser } from "./login-user.ts";

function redirectOf(user: LoginUser): URL {
  return new URL(new URL(user.shown[0]!).searchParams.get("redirect_uri")!);
}

/** Whether anybody listens where the browser came back to. */
function listens({ port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), "127.0.0.1");
    socket.once("connect", () => resolve(true) ?? socket.destroy());
    socket.once("error", () => resolve(false));
  });
}

describe("a login in the browser", () => {
  test("stores what the provider gave, for its owner's eyes, beside what was there", async () => {
    const lab = await open();
    lab.store({ other: { type: "api_key", key: "k", note: 1 } });
    const before = Date.now();
    const state = await lab.keys.logins.login("lab", loginUser());
    const { lab: entry, other } = lab.stored();
    expect(entry).toEqual({
      type: "oauth",
      access: expect.stringMatching(/^access-/),
      refresh: expect.stringMatching(/^refresh-/),
      expires: state.expires,
    });
    expect(state.expires! - before).toBeGreaterThanOrEqual(3_600_000);
    expect(other).toEqual({ type: "api_key", key: "k", note: 1 });
    expect(statSync(join(lab.home, "auth.json")).mode & 0o777).toBe(0o600);
    expect(readdirSync(lab.home)).toEqual(["auth.json"]);
    expect(lab.keys.source(lab.model)).toBe("login");
    expect(isReachable(lab.model, lab.keys)).toBe(true);
    expect(lab.keys.secrets!().map(({ value }) => value)).toEqual(
      expect.arrayContaining([entry!.access, entry!.refresh]),
    );
  });

  test("asks with PKCE and a state, and ends the wait", async () => {
    const lab = await open();
    const user = loginUser();
    await lab.keys.logins.login("lab", user);
    const asked = new URL(user.shown[0]!).searchParams;
    expect(Object.fromEntries(asked)).toMatchObject({
      response_type: "code",
      client_id: "bonsai",
      code_challenge_method: "S256",
      scope: "models",
    });
    expect(asked.get("state")!.length).toBeGreaterThan(30);
    expect(await listens(redirectOf(user))).toBe(false);
  });

  test("goes through by paste of the address where the browser is on another machine", async () => {
    const lab = await open();
    const user = loginUser({
      onAuth: ({ url }) => user.shown.push(url),
      onManualCodeInput: async () => {
        const page = await fetch(user.shown[0]!, { redirect: "manual" });
        return page.headers.get("location")!;
      },
    });
    await lab.keys.logins.login("lab", user);
    expect(lab.keys.source(lab.model)).toBe("login");
  });

  test("by paste: of another login, without a code, then of the code alone", async () => {
    const lab = await open();
    const pastes: ((url: URL) => string)[] = [
      () => "http://127.0.0.1:1/callback?code=stolen&state=another-state-of-another",
      ({ searchParams }) => `http://127.0.0.1:1/callback?state=${searchParams.get("state")}`,
      () => "stolen#another-state",
      () => "",
    ];
    const user = loginUser({
      onAuth: ({ url }) => user.shown.push(url),
      onManualCodeInput: async () => {
        const next = pastes.shift();
        if (next !== undefined) return next(new URL(user.shown[0]!));
        const page = await fetch(user.shown[0]!, { redirect: "manual" });
        return new URL(page.headers.get("location")!).searchParams.get("code")!;
      },
    });
    await lab.keys.logins.login("lab", user);
    expect(user.shown.slice(1)).toEqual([
      "The pasted code belongs to another login. Log in at the address above.",
      "The pasted address contains no code. Paste the whole address.",
      "The pasted code belongs to another login. Log in at the address above.",
      "Exchanging the code for a token…",
    ]);
  });

  test("an answer with a foreign or missing state changes nothing; the right one counts", async () => {
    const lab = await open();
    lab.server.fail("authorize", "foreign-state", "no-state");
    const statuses: number[] = [];
    await lab.keys.logins.login(
      "lab",
      loginUser({
        onAuth: async ({ url }) => {
          for (const _ of [1, 2, 3]) statuses.push((await fetch(url)).status);
        },
      }),
    );
    expect(statuses.slice(0, 2)).toEqual([400, 400]);
    expect(lab.keys.source(lab.model)).toBe("login");
  });

  test("a cancelled login stores nothing and closes its port", async () => {
    const lab = await open();
    const user = loginUser({
      onAuth: ({ url }) => {
        user.shown.push(url);
        user.abort(new Error("Esc"));
      },
    });
    await expect(lab.keys.logins.login("lab", user)).rejects.toThrow("Esc");
    expect(existsSync(join(lab.home, "auth.json"))).toBe(false);
    expect(await listens(redirectOf(user))).toBe(false);
  });

  test("a login with a pasted code stops waiting for the browser while the code is exchanged", async () => {
    const lab = await open();
    lab.server.fail("token", "hang");
    let listening: Promise<boolean> | undefined;
    const user = loginUser({
      onAuth: ({ url }) => user.shown.push(url),
      onManualCodeInput: async () => {
        const page = await fetch(user.shown[0]!, { redirect: "manual" });
        return page.headers.get("location")!;
      },
      onProgress: () => {
        listening = listens(redirectOf(user)).finally(() => user.abort());
      },
    });
    await expect(lab.keys.logins.login("lab", user)).rejects.toThrow("Esc");
    expect(await listening).toBe(false);
  });

  test("a login ends by itself if the provider never exchanges the code", async () => {
    const lab = await open();
    lab.server.fail("token", "hang");
    const limit = new AbortController();
    const limits = vi.spyOn(AbortSignal, "timeout").mockReturnValue(limit.signal);
    onTestFinished(() => limits.mockRestore());
    const late = new DOMException("The operation was aborted due to timeout", "TimeoutError");
    const user = loginUser({ onProgress: () => limit.abort(late) });
    await expect(lab.keys.logins.login("lab", user)).rejects.toMatchObject({
      code: "login_unanswered",
      message: "The login server of Lab failed (no answer within 30 s).",
    });
    expect(limits).toHaveBeenCalledWith(30_000);
    expect(existsSync(join(lab.home, "auth.json"))).toBe(false);
  });

  test("a login that is cancelled while the provider hangs stores nothing", async () => {
    const lab = await open();
    lab.server.fail("token", "hang");
    const user = loginUser({ onProgress: () => user.abort() });
    await expect(lab.keys.logins.login("lab", user)).rejects.toThrow("Esc");
    expect(existsSync(join(lab.home, "auth.json"))).toBe(false);
  });

  test("a refused login is an error, and nothing is stored", () =>
    everyRow<[OAuthFault, string, RegExp]>([
      [{ error: "access_denied", description: "not today" }, "login_denied", /access_denied: not today/],
      [{ error: "invalid_scope" }, "login_refused", /invalid_scope/],
    ])(async ([fault, code, message]) => {
      const lab = await open();
      lab.server.fail("authorize", fault);
      const user = loginUser();
      await expect(lab.keys.logins.login("lab", user)).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message),
      });
      expect(existsSync(join(lab.home, "auth.json"))).toBe(false);
      expect(await listens(redirectOf(user))).toBe(false);
    }));

  test("a code that is exchanged for nothing usable is an error, and nothing is stored", () =>
    everyRow<[OAuthFault, string]>([
      ["drop", "login_unanswered"],
      ["malformed", "login_unanswered"],
      ["page", "login_unanswered"],
      ["server-error", "login_unanswered"],
      ["unauthorized", "login_unanswered"],
      ["wrong-token-type", "login_unanswered"],
      ["no-access-token", "login_unanswered"],
      [{ error: "invalid_grant", description: "too late" }, "login_refused"],
    ])(async ([fault, code]) => {
      const lab = await open();
      lab.server.fail("token", fault);
      await expect(lab.keys.logins.login("lab", loginUser())).rejects.toMatchObject({ code });
      expect(existsSync(join(lab.home, "auth.json"))).toBe(false);
    }));

  test("the error of a failed exchange shows nothing of the answer", () =>
    everyRow<[OAuthFault, RegExp]>([
      ["server-error", /\(status 503\)\.$/],
      // The parser's own message quotes what it read.
      ["malformed", /\(failed to parse "response" body as JSON\)\.$/],
    ])(async ([fault, message]) => {
      const lab = await open();
      lab.server.fail("token", fault);
      const login = lab.keys.logins.login("lab", loginUser());
      await expect(login).rejects.toMatchObject({ message: expect.stringMatching(message) });
    }));

  test("is slow, and goes through; without an end it does not end", async () => {
    const lab = await open();
    lab.server.fail("token", "slow");
    await lab.keys.logins.login("lab", loginUser());
    lab.server.fail("token", "no-expiry");
    expect(await lab.keys.logins.login("lab", loginUser())).toEqual({ expires: undefined });
    expect(Object.keys(lab.stored().lab!)).toEqual(["type", "access", "refresh"]);
  });
});
