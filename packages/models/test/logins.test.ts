import { existsSync, readdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { OAuthFault } from "@bonsai-agent/testkit";
import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { OAuthClient, pollDevice } from "../src/keys/oauth.ts";
import { keyLogin, oauthLogin } from "../src/login.ts";
import { isReachable } from "../src/model.ts";
import { type LoginLab, type LoginUser, labOptions, loginLab, loginUser } from "./login-user.ts";

const labs: LoginLab[] = [];
afterEach(async () => {
  await Promise.all(labs.splice(0).map(({ server }) => server.close()));
});

async function open(...given: Parameters<typeof loginLab>): Promise<LoginLab> {
  const lab = await loginLab(...given);
  labs.push(lab);
  return lab;
}

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

describe("a login with a device's code", () => {
  const device = (url: string) => ({
    ...labOptions({ url }),
    authorizeUrl: undefined,
    deviceUrl: `${url}/device`,
  });

  async function openDevice(): Promise<LoginLab> {
    const lab = await open();
    lab.keys.logins.add("lab", oauthLogin(device(lab.server.url)));
    return lab;
  }

  /** Decides on the code when it is shown. */
  function typing(lab: LoginLab, word: "allow" | "deny" | "expire"): LoginUser {
    const user = loginUser({
      onDeviceCode: ({ userCode, verificationUri }) => {
        user.shown.push(`${userCode} at ${verificationUri}`);
        lab.server.decide(userCode, word);
      },
    });
    return user;
  }

  test("waits until it is typed", async () => {
    const lab = await openDevice();
    const pending = { error: "authorization_pending" };
    lab.server.fail("token", pending, pending, "server-error", "malformed", pending);
    const user = typing(lab, "allow");
    await lab.keys.logins.login("lab", user);
    expect(user.shown[0]).toMatch(/^[0-9A-F]{4}-[0-9A-F]{4} at http:.*\/activate\?user_code=/);
    expect(lab.server.count("token")).toBe(6);
    expect(lab.keys.source(lab.model)).toBe("login");
  });

  test("a login that the user abandons is an error, and nothing is stored", () =>
    everyRow<["deny" | "expire", string]>([
      ["deny", "login_denied"],
      ["expire", "login_timeout"],
    ])(async ([word, code]) => {
      const lab = await openDevice();
      await expect(lab.keys.logins.login("lab", typing(lab, word))).rejects.toMatchObject({ code });
      expect(existsSync(join(lab.home, "auth.json"))).toBe(false);
    }));

  test("is asked about less often, where the provider finds it too often", async () => {
    const lab = await open({ intervalSeconds: 3 });
    const client = new OAuthClient(device(lab.server.url));
    const answer = await client.deviceCode(new AbortController().signal);
    lab.server.decide(answer.user_code, "allow");
    lab.server.fail(
      "token",
      { error: "slow_down" },
      { error: "authorization_pending" },
      { error: "slow_down" },
    );
    const waitedMs: number[] = [];
    const wait = async (ms: number) => waitedMs.push(ms);
    await pollDevice({ client, device: answer, signal: new AbortController().signal, wait });
    expect(waitedMs).toEqual([3_000, 8_000, 8_000, 13_000]);
  });

  test("is cancelled between two questions", async () => {
    const lab = await open({ intervalSeconds: 3600 });
    lab.keys.logins.add("lab", oauthLogin(device(lab.server.url)));
    const user = loginUser({ onDeviceCode: () => queueMicrotask(() => user.abort()) });
    await expect(lab.keys.logins.login("lab", user)).rejects.toThrow("Esc");
    expect(lab.server.count("token")).toBe(0);
  });

  test("is one of two ways, where the provider has both", async () => {
    const lab = await open();
    lab.keys.logins.add(
      "lab",
      oauthLogin({ ...device(lab.server.url), authorizeUrl: `${lab.server.url}/authorize` }),
    );
    const asked: string[] = [];
    const user = typing(lab, "allow");
    await lab.keys.logins.login("lab", {
      ...user,
      onSelect: async ({ message, options }) => {
        asked.push(message, ...options.map(({ id }) => id));
        return "device";
      },
    });
    expect(asked).toEqual(["How do you want to log in to Lab?", "browser", "device"]);
    expect(user.shown[0]).toMatch(/activate/);
  });
});

describe("a login by the paste of a key", () => {
  test("does not end, and is tried first where that can be done", async () => {
    const lab = await open();
    const tried: string[] = [];
    lab.keys.logins.add("lab", keyLogin({ name: "Lab", check: (key) => void tried.push(key) }));
    await lab.keys.logins.login(
      "lab",
      loginUser({ onPrompt: async ({ isSecret }) => (isSecret ? " the-key \n" : "") }),
    );
    expect(tried).toEqual(["the-key"]);
    expect(lab.stored().lab).toEqual({ type: "oauth", access: "the-key", refresh: "" });
    expect(await lab.keys.freshKey!(lab.model)).toBe("the-key");
  });

  test("a key that the provider refuses is not stored", async () => {
    const lab = await open();
    const check = () => {
      throw new Error("The key is not good.");
    };
    lab.keys.logins.add("lab", keyLogin({ name: "Lab", check }));
    await expect(lab.keys.logins.login("lab", loginUser({ onPrompt: async () => "k" }))).rejects.toThrow(
      "not good",
    );
    expect(existsSync(join(lab.home, "auth.json"))).toBe(false);
  });
});

describe("a logout", () => {
  test("takes what is stored away, here and at the provider", async () => {
    const lab = await open();
    await lab.keys.logins.login("lab", loginUser());
    const { access, refresh } = lab.stored().lab as { access: string; refresh: string };
    expect(await lab.keys.logins.logout("lab")).toEqual({ isRevoked: true });
    expect(lab.stored()).toEqual({});
    expect([lab.server.isGood(access), lab.server.isGood(refresh)]).toEqual([false, false]);
    expect(await lab.keys.logins.logout("lab")).toBeUndefined();
    expect(isReachable(lab.model, lab.keys)).toBe(false);
  });

  test("holds here, also where the provider does not answer; no token is in the words", async () => {
    const lab = await open();
    await lab.keys.logins.login("lab", loginUser());
    lab.server.fail("revoke", "drop");
    const done = await lab.keys.logins.logout("lab");
    expect(done).toMatchObject({
      isRevoked: false,
      problem: expect.stringMatching(/login server of Lab failed/),
    });
    expect(lab.stored()).toEqual({});
  });

  test("a logout succeeds if nothing can revoke the login", async () => {
    const lab = await open({}, { revokeUrl: undefined });
    await lab.keys.logins.login("lab", loginUser());
    expect(await lab.keys.logins.logout("lab")).toEqual({ isRevoked: false });
  });
});

describe("requests that are no login", () => {
  test("a pasted answer that does not belong to this login is refused, and nothing is stored", () =>
    everyRow<[string, unknown]>([
      ["nothing", undefined],
      ["an empty access", { access: "", refresh: "r", expires: 1 }],
      ["an access that is no text", { access: 7, refresh: "r" }],
      ["a refresh that is no text", { access: "a", refresh: {} }],
      ["an end that is no number", { access: "a", refresh: "r", expires: "soon" }],
    ])(async ([, given]) => {
      const lab = await open();
      lab.keys.logins.add("lab", { ...lab.login, login: async () => given as never });
      await expect(lab.keys.logins.login("lab", loginUser())).rejects.toMatchObject({
        code: "login_unusable",
      });
      expect(existsSync(join(lab.home, "auth.json"))).toBe(false);
    }));

  test("a login of a provider without logins is an error", async () => {
    const lab = await open();
    await expect(lab.keys.logins.login("nobody", loginUser())).rejects.toMatchObject({ code: "login_none" });
  });

  test("a login whose extension is not loaded is no key; it can be taken away", async () => {
    const lab = await open();
    lab.store({ gone: { type: "oauth", access: "a", refresh: "r", expires: 1 } });
    expect(lab.keys.key({ ...lab.model, provider: "gone" })).toBeUndefined();
    expect(lab.keys.stored()).toEqual(["gone"]);
    expect(await lab.keys.logins.logout("gone")).toEqual({ isRevoked: false });
  });

  test("a getApiKey that throws gives no key", async () => {
    const lab = await open();
    await lab.keys.logins.login("lab", loginUser());
    const getApiKey = () => {
      throw new Error("odd");
    };
    lab.keys.logins.add("lab", { ...lab.login, getApiKey });
    expect(lab.keys.key(lab.model)).toBeUndefined();
  });
});
