import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { loopbackServer } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { LoginStore } from "../src/login-store.ts";
import { call, LoginScene } from "./oauth-client.ts";

test("a refused token is refreshed once for all calls of two processes", async () => {
  await using scene = await LoginScene.open();
  const first = await scene.loggedIn();
  const second = scene.client();
  await second.server.connect();
  scene.remote.expireAccess();
  await Promise.all([call(first), call(first), call(second)]);
  expect(scene.refreshes).toBe(1);
});

test("a token is refreshed shortly before it expires", async () => {
  await using scene = await LoginScene.open();
  scene.tokenOptions.expiresInSeconds = 30;
  const made = await scene.loggedIn();
  const before = scene.remote.count("token");
  delete scene.tokenOptions.expiresInSeconds;
  await call(made);
  await call(made);
  // Connecting after the login was the first request with the short token.
  expect(scene.refreshes).toBeGreaterThanOrEqual(1);
  expect(scene.remote.count("token")).toBe(before + 1);
});

test("a refused refresh ends the login", async () => {
  await using scene = await LoginScene.open();
  const made = await scene.loggedIn();
  scene.remote.revokeAll();
  await expect(call(made)).rejects.toThrow("needs a new login");
  expect(made.server.state).toBe("needs-login");
  expect(scene.storedFiles).toEqual([]);
});

test("a refresh that fails for now keeps the login", async () => {
  await using scene = await LoginScene.open();
  const made = await scene.loggedIn();
  scene.remote.expireAccess();
  scene.remote.fail("token", "server-error");
  await expect(call(made)).rejects.toThrow("Cannot refresh the login");
  expect(scene.storedFiles).toHaveLength(1);
  expect(await call(made)).toMatchObject({ content: [{ text: "noted" }] });
});

test("a refresh asks the authorization server of the login, even if the metadata changes", async () => {
  await using scene = await LoginScene.open();
  const made = await scene.loggedIn();
  scene.remote.expireAccess();
  scene.metadata.token_endpoint = "http://127.0.0.1:1/token";
  await call(made);
  expect(scene.refreshes).toBe(1);
});

test("a refused scope names the missing permission", async () => {
  await using scene = await LoginScene.open();
  const made = await scene.loggedIn();
  const challenge = 'Bearer error="insufficient_scope", scope="admin"';
  scene.reply = { status: 403, headers: { "www-authenticate": challenge } };
  await expect(call(made)).rejects.toThrow("needs a login with more permissions (admin)");
  expect(made.server.state).toBe("needs-login");
});

test("a damaged login is named with the way out", async () => {
  await using scene = await LoginScene.open();
  await scene.loggedIn();
  writeFileSync(join(scene.home, "mcp-logins", scene.storedFiles[0]!), "{");
  const { server } = scene.client();
  await server.connect();
  expect(server.problem).toContain("is damaged");
  expect(server.state).toBe("failed");
});

test("a token does not follow a redirect to another server", async () => {
  await using scene = await LoginScene.open();
  const made = await scene.loggedIn();
  const other = await loopbackServer(() => ({}));
  scene.reply = { status: 307, headers: { location: `${other.url}/mcp` } };
  await expect(call(made)).rejects.toThrow();
  expect(other.requests).toEqual([]);
  await other.close();
});

test("the lock of a dead process blocks no login", async () => {
  await using scene = await LoginScene.open();
  const store = new LoginStore(scene.home, { name: "remote", url: "http://localhost" });
  const { pid } = spawnSync("true");
  mkdirSync(dirname(store.file), { recursive: true });
  const owner = { token: "of another", pid, host: hostname(), at: Date.now() };
  writeFileSync(`${store.file}.lock`, JSON.stringify(owner));
  expect(await store.locked(async () => "done")).toBe("done");
  expect(readdirSync(dirname(store.file))).toEqual([]);
});
