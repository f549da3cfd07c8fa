import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ExtensionContext } from "@bonsai-agent/extension";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LoginStore } from "../src/login-store.ts";
import { Logins } from "../src/logins.ts";
import { logIn } from "../src/oauth-login.ts";
import { McpServer } from "../src/server.ts";
import { OAuthMcpServer } from "./oauth-server.ts";

let remote: OAuthMcpServer;
let home: string;
const open: McpServer[] = [];

beforeEach(async () => {
  remote = await new OAuthMcpServer().listen();
  home = mkdtempSync(join(tmpdir(), "mcp-oauth-"));
});

afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
  remote.close();
  rmSync(home, { recursive: true, force: true });
});

type Browse = (page: string) => Promise<unknown>;

/** A browser whose user agrees. */
const agrees: Browse = async (page) => fetch(await remote.browse(page));

interface Client {
  server: McpServer;
  logins: Logins;
  notified: string[];
  ctx: Pick<ExtensionContext, "ui" | "hasUI" | "signal">;
}

/** A process of its own, as far as logins go. */
function client(
  browse: Browse = agrees,
  { oauth, headers = {}, ui = {}, hasUI = true }: ClientOptions = {},
): Client {
  const logins = new Logins({
    home: () => home,
    openBrowser: async (page) => {
      void browse(page);
      return true;
    },
  });
  const server = new McpServer({
    config: {
      name: "notes",
      file: join(home, "mcp.json"),
      isEnabled: true,
      hasRoots: true,
      timeoutMs: 10_000,
      type: "http",
      url: remote.url,
      headers,
      ...(oauth && { oauth }),
    },
    hooks: { auth: (each) => logins.authOf(each) },
  });
  open.push(server);
  const notified: string[] = [];
  const asking = (_title: string, _placeholder: string, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise<undefined>((resolve) => signal?.addEventListener("abort", () => resolve(undefined)));
  const all = {
    notify: (text: string) => notified.push(text),
    input: asking,
    confirm: async () => true,
    ...ui,
  };
  return {
    server,
    logins,
    notified,
    ctx: { ui: all as unknown as ExtensionContext["ui"], hasUI, signal: undefined },
  };
}

interface ClientOptions {
  oauth?: Record<string, unknown>;
  headers?: Record<string, string>;
  ui?: Record<string, unknown>;
  hasUI?: boolean;
}

async function loggedIn(...args: Parameters<typeof client>): Promise<Client> {
  const made = client(...args);
  await made.logins.logIn(made.server, made.ctx);
  return made;
}

const call = ({ server }: Client) => server.callTool("note", {}, { signal: new AbortController().signal });
const refreshes = () =>
  remote.tokenRequests.filter((each) => each.get("grant_type") === "refresh_token").length;
const stored = () => readdirSync(join(home, "mcp-logins")).filter((name) => name.endsWith(".json"));

test("a server that needs a login names the command", async () => {
  const { server } = client();
  await server.connect();
  expect(server.state).toBe("needs-login");
  expect(server.problem).toBe("The MCP server notes needs a login.");
});

describe("a login", () => {
  test("finds the authorization server, registers, brings the code, and connects; its file is the user's alone", async () => {
    const made = await loggedIn();
    expect(made.server.state).toBe("ready");
    expect(await call(made)).toMatchObject({ content: [{ text: "noted" }] });
    expect(remote.registrations).toMatchObject([
      { client_name: "Bonsai", token_endpoint_auth_method: "none" },
    ]);
    expect(remote.tokenRequests[0]!.get("resource")).toBe(remote.url);
    const [file] = stored();
    expect(statSync(join(home, "mcp-logins", file!)).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, "mcp-logins")).mode & 0o777).toBe(0o700);
    expect(made.notified.join()).toContain(`${remote.origin}/authorize`);
  });

  test("holds for the next process, asks for what the server asked for, and ends with a logout", async () => {
    let page = "";
    const first = client(async (opened) => {
      page = opened;
      await agrees(opened);
    });
    await first.server.connect();
    await first.logins.logIn(first.server, first.ctx);
    expect(new URL(page).searchParams.get("scope")).toBe("notes");
    const second = client();
    await second.server.connect();
    expect(second.server.state).toBe("ready");
    expect(await second.logins.logOut(second.server)).toEqual({ wasIn: true });
    expect(remote.revoked).toEqual(["refresh_token", "access_token"]);
    expect(second.server.state).toBe("needs-login");
    expect(stored()).toEqual([]);
    expect(await second.logins.logOut(second.server)).toEqual({ wasIn: false });
  });

  test("is removed even if the server does not revoke its tokens", async () => {
    remote.faults.keepsTokens = true;
    const made = await loggedIn();
    const unrevoked = "the server did not revoke them (status 503).";
    expect(await made.logins.logOut(made.server)).toEqual({ wasIn: true, unrevoked });
    expect(stored()).toEqual([]);
  });

  test("uses a client that was registered by hand, at its port", async () => {
    remote.faults.withoutRegistration = true;
    const oauth = { clientId: "by-hand", clientSecret: "s3cret", scope: "read write" };
    const { server } = await loggedIn(agrees, { oauth });
    expect(server.state).toBe("ready");
    expect(Object.fromEntries(remote.tokenRequests[0]!)).toMatchObject({
      client_id: "by-hand",
      client_secret: "s3cret",
    });
  });

  test("can be brought by hand where the browser is on another machine", async () => {
    let page = "";
    const made = client(
      async (opened) => {
        page = opened;
      },
      {
        ui: {
          input: async (title: string) => {
            titles.push(title);
            if (titles.length === 1) return "http://127.0.0.1:1/callback?code=x&state=foreign";
            return remote.browse(page);
          },
        },
      },
    );
    const titles: string[] = [];
    await made.logins.logIn(made.server, made.ctx);
    expect(made.server.state).toBe("ready");
    expect(titles[1]).toContain("That address does not belong to this login.");
  });
});

describe("a login that fails", () => {
  const failure = (...args: Parameters<typeof client>) => loggedIn(...args).catch((error: unknown) => error);

  test("for the user says no", async () => {
    remote.faults.deniesLogin = true;
    expect(await failure()).toMatchObject({ code: "login_denied" });
    expect(() => stored()).toThrow();
  });

  test("for the user leaves it", async () => {
    const error = await failure(async () => {}, { ui: { input: async () => undefined } });
    expect(error).toMatchObject({ code: "mcp_login_cancelled" });
  });

  test("for nobody can be asked", async () => {
    expect(await failure(agrees, { hasUI: false })).toMatchObject({ code: "mcp_login_needs_user" });
  });

  test("for clients cannot register, and says what to do", async () => {
    remote.faults.withoutRegistration = true;
    const error = await failure();
    expect(error).toMatchObject({
      code: "mcp_login_failed",
      hint: expect.stringContaining("oauth.clientId"),
    });
  });

  test("for the server has a header of the user's", async () => {
    const error = await failure(agrees, { headers: { Authorization: "Bearer mine" } });
    expect(error).toMatchObject({ code: "mcp_login_needless" });
  });

  test.each([
    ["another resource", { otherResource: "https://elsewhere.example/mcp" }, "mcp_login_failed"],
    ["another issuer", { otherIssuer: "https://elsewhere.example" }, "mcp_login_untrusted"],
    [
      "a place where anybody listens in",
      { otherTokenEndpoint: "http://elsewhere.example/token" },
      "mcp_login_untrusted",
    ],
  ])("for its metadata points to %s", async (_what, faults, code) => {
    Object.assign(remote.faults, faults);
    let isOpened = false;
    const error = await failure(async () => {
      isOpened = true;
    });
    expect(error).toMatchObject({ code });
    expect(isOpened).toBe(false);
  });

  test("never by an answer with a foreign state, or one that comes twice", async () => {
    const statuses: number[] = [];
    await loggedIn(async (page) => {
      const answer = await remote.browse(page);
      const foreign = new URL(answer);
      foreign.searchParams.set("state", "0123456789abcdef0123456789abcdef");
      statuses.push((await fetch(foreign)).status, (await fetch(answer)).status);
      statuses.push(
        await fetch(answer).then(
          ({ status }) => status,
          () => 0,
        ),
      );
    });
    expect(statuses.slice(0, 2)).toEqual([400, 200]);
    expect(remote.tokenRequests).toHaveLength(1);
  });

  test("by an answer of another issuer not at all", async () => {
    const statuses: number[] = [];
    await loggedIn(async (page) => {
      const answer = await remote.browse(page);
      statuses.push((await fetch(`${answer}&iss=https%3A%2F%2Felsewhere.example`)).status);
      statuses.push((await fetch(`${answer}&iss=${encodeURIComponent(remote.origin)}`)).status);
    });
    expect(statuses).toEqual([400, 200]);
  });

  test("for the authorization server is slow", async () => {
    remote.faults.isSlow = true;
    const { ctx } = client();
    const server = { name: "notes", url: remote.url };
    const request = { server, store: new LoginStore(home, server), challenge: {} };
    const login = logIn({ ...request, ui: ctx.ui, openBrowser: async () => true, timeoutMs: 50 });
    await expect(login).rejects.toMatchObject({
      code: "mcp_login_failed",
      message: expect.stringContaining("did not answer in time"),
    });
  });

  test("when it is begun anew: the first is given up", async () => {
    const made = client(async () => {});
    const first = made.logins.logIn(made.server, made.ctx).catch((error: unknown) => error);
    const second = client(agrees);
    await made.logins
      .logIn(made.server, {
        ...second.ctx,
        ui: { ...made.ctx.ui, input: async () => undefined } as ExtensionContext["ui"],
      })
      .catch(() => {});
    expect(await first).toBeInstanceOf(Error);
  });
});

describe("a refresh", () => {
  test("happens once for all calls when the server refuses the token", async () => {
    const made = await loggedIn();
    remote.expireAll();
    await Promise.all([call(made), call(made), call(made)]);
    expect(refreshes()).toBe(1);
  });

  test("happens once for two processes", async () => {
    const first = await loggedIn();
    const second = client();
    await second.server.connect();
    remote.expireAll();
    await Promise.all([call(first), call(second)]);
    expect(refreshes()).toBe(1);
  });

  test("happens before the token ends", async () => {
    remote.faults.expiresIn = 30;
    const made = await loggedIn();
    const before = remote.log.length;
    delete remote.faults.expiresIn;
    await call(made);
    await call(made);
    // Connecting after the login was the first request that found the token about to end.
    expect(refreshes()).toBeGreaterThanOrEqual(1);
    expect(remote.log.slice(before).filter((each) => each === "POST /token")).toHaveLength(1);
  });

  test("that is refused ends the login, and asks for another", async () => {
    const made = await loggedIn();
    remote.expireAll();
    remote.faults.refusesRefresh = true;
    await expect(call(made)).rejects.toThrow("needs a new login");
    expect(made.server.state).toBe("needs-login");
    expect(stored()).toEqual([]);
  });

  test("that fails for now keeps the login", async () => {
    const made = await loggedIn();
    remote.expireAll();
    remote.faults.breaksRefresh = true;
    await expect(call(made)).rejects.toThrow("Cannot refresh the login");
    expect(stored()).toHaveLength(1);
    delete remote.faults.breaksRefresh;
    expect(await call(made)).toMatchObject({ content: [{ text: "noted" }] });
  });

  test("asks only who gave the token, whatever the server says by then", async () => {
    const made = await loggedIn();
    remote.expireAll();
    remote.faults.otherTokenEndpoint = "http://127.0.0.1:1/token";
    await call(made);
    expect(refreshes()).toBe(1);
  });
});

test("names the permission that a login lacks", async () => {
  const made = await loggedIn();
  remote.faults.wantsScope = "admin";
  await expect(call(made)).rejects.toThrow("needs a login with more permissions (admin)");
  expect(made.server.state).toBe("needs-login");
});

test("a login that is damaged is named, with the way out", async () => {
  await loggedIn();
  writeFileSync(join(home, "mcp-logins", stored()[0]!), "{");
  const { server } = client();
  await server.connect();
  expect(server.problem).toContain("is damaged");
  expect(server.state).toBe("failed");
});

test("a token does not follow a redirect to another server", async () => {
  const made = await loggedIn();
  const other = await new OAuthMcpServer().listen();
  remote.faults.redirectsTo = other.url;
  await expect(call(made)).rejects.toThrow();
  expect(other.log).toEqual([]);
  other.close();
});

test("the lock of a process that has died holds up nobody", async () => {
  const store = new LoginStore(home, { name: "remote", url: "http://localhost" });
  const { pid } = spawnSync(process.execPath, ["--version"]);
  mkdirSync(dirname(store.file), { recursive: true });
  const owner = { token: "of another", pid, host: hostname(), at: Date.now() };
  writeFileSync(`${store.file}.lock`, JSON.stringify(owner));
  expect(await store.locked(async () => "done")).toBe("done");
  expect(readdirSync(dirname(store.file))).toEqual([]);
});
