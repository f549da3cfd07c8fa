import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { oauthServer } from "@bonsai-agent/testkit";
import { expect, onTestFinished, test } from "vitest";
import type { LoginRow } from "../src/commands/login.ts";
import { testFolder } from "./call/sample-session.ts";
import { jsonOf, type RunCliOptions, runCli } from "./run-cli.ts";

async function open() {
  const server = await oauthServer();
  onTestFinished(() => server.close());
  const home = testFolder();
  const extension = join(home, "corp.mjs");
  const url = (path: string) => JSON.stringify(`${server.url}/${path}`);
  writeFileSync(
    extension,
    `import { keyLogin, oauthLogin } from "@bonsai-agent/extension/login";
    const models = [{ id: "m" }];
    export default (bonsai) => {
      bonsai.registerProvider("corp", { baseUrl: ${url("v1")}, models, oauth: oauthLogin({
        name: "Corporate AI", clientId: "bonsai", authorizeUrl: ${url("authorize")}, tokenUrl: ${url("token")}, revokeUrl: ${url("revoke")} }) });
      bonsai.registerProvider("pasted", { baseUrl: ${url("v1")}, models, oauth: keyLogin({ name: "Pasted" }) });
    };`,
  );
  const file = join(home, "auth.json");
  const call = (words: string[], options: RunCliOptions = {}) =>
    runCli([...words, "-e", extension], { ...options, env: { BONSAI_HOME: home, ...options.env } });
  const stored = () => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {});
  return { server, home, file, extension, call, stored };
}

/** A browser that goes wherever an address is printed. */
function browsing(): Pick<RunCliOptions, "onOutput"> {
  return { onOutput: (text) => void (/^http/.test(text) && fetch(text.trim())) };
}

test("bonsai login goes through in the browser, and --forget deletes and revokes the login", async () => {
  const { server, call, file, stored } = await open();
  const { code, stdout, stderr } = await call(["login", "corp"], browsing());
  expect([code, stdout]).toEqual([0, `You are logged in to Corporate AI. The login is in ${file}.\n`]);
  const { access } = stored().corp;
  expect(server.isGood(access)).toBe(true);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(stdout + stderr).not.toContain(access);
  expect((await call(["login"])).stdout).toMatch(
    /corp +Corporate AI +logged in until (\d+ \w+( \d+)?, )?\d\d:\d\d/,
  );
  expect((await call(["login", "--forget", "corp"])).stdout).toBe(
    "Deleted the stored key or login of corp. The provider revoked it.\n",
  );
  expect([stored(), server.isGood(access)]).toEqual([{}, false]);
  expect(await call(["logout", "corp"])).toMatchObject({ code: 0, stdout: "Nothing is stored for corp.\n" });
});

test("a denied login fails, and nothing is stored", async () => {
  const { server, call, stored } = await open();
  server.fail("authorize", { error: "access_denied" });
  const { code, stderr } = await call(["login", "corp"], browsing());
  expect(code).toBe(1);
  expect(stderr).toContain("login_denied");
  expect(stored()).toEqual({});
});

test("a key is read from a pipe or the terminal", async () => {
  const { call, stored } = await open();
  expect((await call(["login", "anthropic"], { stdin: "the-key\n" })).stdout).toMatch(
    /^Stored the key for anthropic in /,
  );
  expect((await call(["login", "openai"], { typed: "typed-key\n", columns: 80 })).code).toBe(0);
  expect((await call(["login", "pasted"], { stdin: "pasted-key" })).code).toBe(0);
  expect(stored()).toMatchObject({
    anthropic: { type: "api_key", key: "the-key" },
    openai: { type: "api_key", key: "typed-key" },
    pasted: { type: "oauth", access: "pasted-key" },
  });
  const { code, stderr } = await call(["login", "anthropic"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/No answer to .*bonsai login PROVIDER < FILE/s);
});

test("an interrupt ends a login, and nothing is stored", async () => {
  const { call, stored } = await open();
  const controller = new AbortController();
  const onOutput = (text: string) =>
    void (/^http/.test(text) && controller.abort(new Error("Interrupted by Ctrl-C")));
  const { code } = await call(["login", "corp"], { onOutput, signal: controller.signal });
  expect(code).toBe(130);
  expect(stored()).toEqual({});
});

test("lists all providers without an argument and names an unknown one", async () => {
  const { home, extension, call } = await open();
  const rows = await jsonOf<LoginRow[]>(["login", "-e", extension], {
    env: { BONSAI_HOME: home, XAI_API_KEY: "k" },
  });
  expect(rows.find(({ provider }) => provider === "xai")).toEqual({
    provider: "xai",
    login: null,
    origin: "environment",
    variable: "XAI_API_KEY",
    expires: null,
  });
  expect(rows.find(({ provider }) => provider === "corp")).toMatchObject({
    login: "Corporate AI",
    origin: null,
  });
  const { code, stderr } = await call(["login", "nobody"]);
  expect(code).toBe(2);
  expect(stderr).toContain('Unknown provider "nobody".');
});

test("print mode says how to log in", async () => {
  const { call } = await open();
  const { code, stderr } = await call(["-p", "Hello", "--model", "corp/m"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/You are not logged in to corp \(Corporate AI\)\. Run .*login corp/);
});
