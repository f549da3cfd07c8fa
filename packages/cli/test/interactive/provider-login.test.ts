import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type OAuthServer, oauthServer } from "@bonsai-agent/testkit";
import { expect, onTestFinished, test } from "vitest";
import { withExtension } from "./extension-setup.ts";
import type { OpenedInteractive } from "./harness.ts";

interface Opened extends OpenedInteractive {
  server: OAuthServer;
  command(text: string): void;
  stored(): Record<string, { access: string; refresh: string }>;
}

async function open(ways: string): Promise<Opened> {
  const server = await oauthServer();
  onTestFinished(() => server.close());
  const body = `
    bonsai.registerProvider("corp", {
      baseUrl: "${server.url}/v1",
      models: [{ id: "m", contextWindow: 100_000 }],
      oauth: oauthLogin({ name: "Corporate AI", clientId: "bonsai", tokenUrl: "${server.url}/token", revokeUrl: "${server.url}/revoke", ${ways.replaceAll("URL", server.url)} }),
    });`;
  const opened = await withExtension(body, {
    rows: 40,
    head: 'import { oauthLogin } from "@bonsai-agent/extension/login";',
  });
  const file = join(opened.project.home, "auth.json");
  return {
    ...opened,
    server,
    stored: () => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {}),
  };
}

const browser = 'authorizeUrl: "URL/authorize"';
const device = 'deviceUrl: "URL/device"';

/** The address that is shown, over several lines. */
async function shownUrl({ terminal }: Opened): Promise<string> {
  const screen = await terminal.until(/^http.*authorize/m);
  const lines = screen.slice(screen.search(/^http/m)).split("\n");
  return lines
    .slice(
      0,
      lines.findIndex((line) => !/^\S+$/.test(line)),
    )
    .join("");
}

test("a login in the browser goes through; its provider is asked; a logout takes it back", async () => {
  const ui = await open(browser);
  ui.command("/login corp");
  await ui.terminal.until("Log in to Corporate AI");
  await ui.terminal.until("Could not open a browser");
  await fetch(await shownUrl(ui));
  await ui.terminal.until("Logged in to Corporate AI");
  const { access, refresh } = ui.stored().corp!;
  expect(ui.server.isGood(access)).toBe(true);
  ui.command("/login");
  await ui.terminal.until(/corp +logged in until .*, then refreshed/);
  ui.terminal.press("esc");
  ui.command("/model corp/m");
  await ui.terminal.until(/corp\/m/);
  ui.terminal.type("Hello\n");
  await ui.terminal.until("You are logged in.");
  ui.command("/logout corp");
  await ui.terminal.until("Deleted the stored key or login of corp. The provider revoked it.");
  expect([ui.stored(), ui.server.isGood(access), ui.server.isGood(refresh)]).toEqual([{}, false, false]);
  await ui.terminal.until("corp/m is no longer available");
  expect(ui.terminal.written.join("")).not.toMatch(/access-[\da-f]{8}|refresh-[\da-f]{8}/);
});

test("Esc cancels all of it: nobody listens any longer, and nothing is stored", async () => {
  const ui = await open(browser);
  ui.command("/login corp");
  const url = await shownUrl(ui);
  ui.terminal.press("esc");
  await ui.terminal.until("Login cancelled. Nothing was stored.");
  await expect(fetch(url)).rejects.toThrow();
  expect(ui.stored()).toEqual({});
});

test("the address that the browser ended at can be pasted", async () => {
  const ui = await open(browser);
  ui.command("/login corp");
  const page = await fetch(await shownUrl(ui), { redirect: "manual" });
  ui.terminal.paste("http://127.0.0.1:1/callback?code=stolen&state=another");
  ui.terminal.press("enter");
  await ui.terminal.until("belongs to another login");
  ui.terminal.paste(page.headers.get("location")!);
  ui.terminal.press("enter");
  await ui.terminal.until("Logged in to Corporate AI");
});

test("once a code is pasted there is no browser to open while it is exchanged", async () => {
  const ui = await open(browser);
  ui.server.fail("token", "hang");
  ui.command("/login corp");
  const page = await fetch(await shownUrl(ui), { redirect: "manual" });
  ui.terminal.paste(page.headers.get("location")!);
  ui.terminal.press("enter");
  const screen = await ui.terminal.until(
    (each) => each.includes("Exchanging the code") && !each.includes("Paste the"),
  );
  expect(screen).toContain("cancel");
  expect(screen).not.toMatch(/open browser|copy address|^http/m);
  ui.terminal.press("esc");
  await ui.terminal.until("Login cancelled. Nothing was stored.");
});

test("a denied login is an error that says so", async () => {
  const ui = await open(browser);
  ui.server.fail("authorize", { error: "access_denied", description: "not \u001b[31mtoday" });
  ui.command("/login corp");
  await fetch(await shownUrl(ui));
  await ui.terminal.until("The login was denied (access_denied: not [31mtoday).");
  expect(ui.stored()).toEqual({});
});

test("a device's code stands in a box, and is copied by a key; the login goes on once it is typed", async () => {
  const ui = await open(device);
  ui.command("/login corp");
  const screen = await ui.terminal.until(/│ [0-9A-F]{4}-[0-9A-F]{4} │/);
  const [code] = /[0-9A-F]{4}-[0-9A-F]{4}(?= │)/.exec(screen)!;
  expect(screen).toContain("/activate");
  expect(screen).toContain("Tab copy code");
  ui.server.decide(code, "allow");
  await ui.terminal.until("Logged in to Corporate AI");
});

test("the user chooses between two ways, and Esc cancels the login", async () => {
  const ui = await open(`${browser}, ${device}`);
  ui.command("/login corp");
  await ui.terminal.until("How do you want to log in to Corporate AI?");
  ui.terminal.press("esc");
  await ui.terminal.until("Login cancelled");
  ui.command("/login corp");
  await ui.terminal.until("How do you want to log in to Corporate AI?");
  ui.terminal.press("down");
  ui.terminal.press("enter");
  await ui.terminal.until("Tab copy code");
});

test("a login whose extension is not loaded can be taken away", async () => {
  const ui = await open(browser);
  writeFileSync(
    join(ui.project.home, "auth.json"),
    JSON.stringify({ gone: { type: "oauth", access: "a", refresh: "" } }),
  );
  ui.command("/logout gone");
  await ui.terminal.until("Deleted the stored key or login of gone.");
  expect(ui.stored()).toEqual({});
});
