import { existsSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { OAuthClient, pollDevice } from "../src/keys/oauth.ts";
import { keyLogin, oauthLogin } from "../src/login.ts";
import { isReachable } from "../src/model.ts";
import { open } from "./login-lab.ts";
import { type LoginLab, type LoginUser, labOptions, loginUser } from "./login-user.ts";

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
