import { statSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionContext } from "@bonsai-agent/extension";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { LoginStore } from "../src/login-store.ts";
import { logIn } from "../src/oauth-login.ts";
import { call, LoginScene } from "./oauth-client.ts";

test("a server without a login names the need, and the login connects it", async () => {
  await using scene = await LoginScene.open();
  const made = scene.client();
  await made.server.connect();
  expect([made.server.state, made.server.problem]).toEqual([
    "needs-login",
    "The MCP server notes needs a login.",
  ]);
  await made.logins.logIn(made.server, made.ctx);
  expect(made.server.state).toBe("ready");
  expect(await call(made)).toMatchObject({ content: [{ text: "noted" }] });
  expect(made.notified.join()).toContain(`${scene.remote.url}/authorize`);
  expect(scene.bodies("/register")).toMatchObject([
    { client_name: "Bonsai", token_endpoint_auth_method: "none" },
  ]);
  expect(scene.bodies("/token")[0]).toMatchObject({ resource: scene.remote.url });
});

test("only the user can read a stored login", async () => {
  await using scene = await LoginScene.open();
  await scene.loggedIn();
  const folder = join(scene.home, "mcp-logins");
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, scene.storedFiles[0]!)).mode & 0o777).toBe(0o600);
});

test("another process uses the login, and a logout revokes it", async () => {
  await using scene = await LoginScene.open();
  await scene.loggedIn();
  const second = scene.client();
  await second.server.connect();
  expect(second.server.state).toBe("ready");
  expect(await second.logins.logOut(second.server)).toEqual({ wasIn: true });
  expect(scene.bodies("/revoke").map((body) => body.token_type_hint)).toEqual([
    "refresh_token",
    "access_token",
  ]);
  expect(second.server.state).toBe("needs-login");
  expect(scene.storedFiles).toEqual([]);
  expect(await second.logins.logOut(second.server)).toEqual({ wasIn: false });
});

test("a logout removes the login even if the server does not revoke its tokens", async () => {
  await using scene = await LoginScene.open();
  const made = await scene.loggedIn();
  scene.remote.fail("revoke", "server-error");
  const unrevoked = "the server did not revoke them (status 503).";
  expect(await made.logins.logOut(made.server)).toEqual({ wasIn: true, unrevoked });
  expect(scene.storedFiles).toEqual([]);
});

test("a client that the user registered needs no registration", async () => {
  await using scene = await LoginScene.open();
  scene.metadata.registration_endpoint = undefined;
  scene.metadata.token_endpoint_auth_methods_supported = ["client_secret_post"];
  let page = "";
  const browse = (opened: string) => {
    page = opened;
    return scene.agree(opened);
  };
  const oauth = { clientId: "by-hand", clientSecret: "s3cret", scopes: ["read", "write"] };
  const { server } = await scene.loggedIn({ browse, oauth });
  expect(server.state).toBe("ready");
  expect(new URL(page).searchParams.get("scope")).toBe("read write");
  expect(scene.bodies("/token")[0]).toMatchObject({ client_id: "by-hand", client_secret: "s3cret" });
});

test("the user pastes the last address of a browser on another machine", async () => {
  await using scene = await LoginScene.open();
  let page = "";
  const titles: string[] = [];
  const browse = async (opened: string) => {
    page = opened;
  };
  const input = async (title: string) => {
    titles.push(title);
    if (titles.length === 1) return "http://127.0.0.1:1/callback?code=x&state=foreign";
    return scene.lastPage(page);
  };
  const { server } = await scene.loggedIn({ browse, ui: { input } });
  expect(server.state).toBe("ready");
  expect(titles[1]).toContain("That address does not belong to this login.");
});

test("a login fails with its own code if the user or the server refuses it", async () => {
  await using scene = await LoginScene.open();
  scene.remote.fail("authorize", { error: "access_denied" });
  expect(await scene.failure()).toMatchObject({ code: "login_denied" });
  const left = { browse: async () => {}, ui: { input: async () => undefined } };
  expect(await scene.failure(left)).toMatchObject({ code: "mcp_login_cancelled" });
  expect(await scene.failure({ hasUI: false })).toMatchObject({ code: "mcp_login_needs_user" });
  const headers = { Authorization: "Bearer mine" };
  expect(await scene.failure({ headers })).toMatchObject({ code: "mcp_login_needless" });
  scene.metadata.registration_endpoint = undefined;
  expect(await scene.failure()).toMatchObject({
    code: "mcp_login_failed",
    hint: expect.stringContaining("oauth.clientId"),
  });
  expect(() => scene.storedFiles).toThrow();
});

test("a login stops before the browser opens if the metadata points elsewhere", () =>
  everyRow([
    [{ resource: "https://elsewhere.example/mcp" }, "mcp_login_failed"],
    [{ issuer: "https://elsewhere.example" }, "mcp_login_untrusted"],
    [{ token_endpoint: "http://elsewhere.example/token" }, "mcp_login_untrusted"],
  ] as const)(async ([metadata, code]) => {
    await using scene = await LoginScene.open();
    Object.assign(scene.metadata, metadata);
    let isOpened = false;
    const browse = async () => {
      isOpened = true;
    };
    expect(await scene.failure({ browse })).toMatchObject({ code });
    expect(isOpened).toBe(false);
  }));

test("the loopback refuses an answer with a foreign state or issuer", async () => {
  await using scene = await LoginScene.open();
  const statuses: number[] = [];
  const browse = async (page: string) => {
    const answer = await scene.lastPage(page);
    const foreign = new URL(answer);
    foreign.searchParams.set("state", "0123456789abcdef0123456789abcdef");
    statuses.push((await fetch(foreign)).status);
    statuses.push((await fetch(`${answer}&iss=https%3A%2F%2Felsewhere.example`)).status);
    statuses.push((await fetch(`${answer}&iss=${encodeURIComponent(scene.remote.url)}`)).status);
  };
  await scene.loggedIn({ browse });
  await expect.poll(() => statuses).toEqual([400, 400, 200]);
  expect(scene.bodies("/token")).toHaveLength(1);
});

test("a slow authorization server ends the login", async () => {
  await using scene = await LoginScene.open();
  scene.remote.fail("metadata", "hang", "hang", "hang", "hang");
  const server = { name: "notes", url: scene.url };
  const login = logIn({
    server,
    store: new LoginStore(scene.home, server),
    challenge: {},
    ui: scene.client().ctx.ui,
    openBrowser: async () => true,
    timeoutMs: 50,
  });
  await expect(login).rejects.toMatchObject({
    code: "mcp_login_failed",
    message: expect.stringContaining("did not answer in time"),
  });
});

test("a new login replaces one under way", async () => {
  await using scene = await LoginScene.open();
  const made = scene.client({ browse: async () => {} });
  const first = made.logins.logIn(made.server, made.ctx).catch((error: unknown) => error);
  const ui = { ...made.ctx.ui, input: async () => undefined } as ExtensionContext["ui"];
  await made.logins.logIn(made.server, { ...made.ctx, ui }).catch(() => {});
  expect(await first).toBeInstanceOf(Error);
});
