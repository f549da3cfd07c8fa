import { createServer } from "node:http";
import { connect } from "node:net";
import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { type Loopback, type LoopbackOptions, openLoopback } from "../src/keys/loopback.ts";

const state = "0123456789abcdef-state";
const opened: Loopback[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});

async function open(options: Partial<LoopbackOptions> = {}): Promise<Loopback> {
  const loopback = await openLoopback({ state, ...options });
  opened.push(loopback);
  return loopback;
}

/** What a browser brings back. */
function back({ redirectUri }: Loopback, parameters: Record<string, string> | string): Promise<Response> {
  return fetch(`${redirectUri}?${new URLSearchParams(parameters)}`);
}

describe("the answer that is waited for", () => {
  test("brings its code, once", async () => {
    const loopback = await open();
    expect(loopback.redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    const answer = await back(loopback, { code: "the-code", state });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain("You are logged in");
    expect(await loopback.code()).toBe("the-code");
    await expect(back(loopback, { code: "another", state })).rejects.toThrow();
  });

  test("counts although nobody asked for the code yet", async () => {
    const loopback = await open();
    await (await back(loopback, { code: "early", state })).text();
    expect(await loopback.code()).toBe("early");
  });

  test("the first of two simultaneous answers counts, and the other is refused", async () => {
    const loopback = await open();
    const answers = await Promise.allSettled([
      back(loopback, { code: "first", state }),
      back(loopback, { code: "second", state }),
    ]);
    const statuses = answers.map((each) => (each.status === "fulfilled" ? each.value.status : 0));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(["first", "second"]).toContain(await loopback.code());
  });

  test("a user's refusal is an error with the provider's words, on one line", async () => {
    const loopback = await open();
    const answer = await back(loopback, {
      error: "access_denied",
      error_description: `No\n\u001b[31mthanks${"!".repeat(500)}`,
      state,
    });
    expect(await answer.text()).toContain("You are not logged in");
    await expect(loopback.code()).rejects.toMatchObject({ code: "login_denied" });
    const message = await loopback.code().catch((error: Error) => error.message);
    expect(message).toMatch(/^The login was denied \(access_denied: No \[31mthanks!+…\)\.$/);
    expect(message.length).toBeLessThanOrEqual(240);
  });

  test("a provider's refusal is an error too", async () => {
    const loopback = await open();
    await back(loopback, { error: "invalid_scope", state });
    await expect(loopback.code()).rejects.toMatchObject({
      code: "login_refused",
      message: "The provider refused the login (invalid_scope).",
    });
  });
});

describe("any other answer is refused with 400, and the wait goes on", () => {
  test("a call that does not belong to the login is refused", () =>
    everyRow<[string, string]>([
      ["without a state", "code=c"],
      ["with the state of another", "code=c&state=0123456789abcdef-other"],
      ["with an empty state", "code=c&state="],
      ["with two states", `code=c&state=${state}&state=${state}`],
      ["with two codes", `code=c&code=d&state=${state}`],
      ["without a code", `state=${state}`],
      ["with an empty code", `code=&state=${state}`],
      ["a refusal with the state of another", "error=access_denied&state=0123456789abcdef-other"],
      ["of another issuer", `code=c&state=${state}&iss=https://other.example`],
    ])(async ([, query]) => {
      const loopback = await open({ issuer: "https://this.example" });
      const refused = await fetch(`${loopback.redirectUri}?${query}`);
      expect(refused.status).toBe(400);
      await back(loopback, { code: "right", state, iss: "https://this.example" });
      expect(await loopback.code()).toBe("right");
    }));

  test("a request from another site whose name points here is refused", async () => {
    const loopback = await open();
    const { port, pathname } = new URL(loopback.redirectUri);
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), "127.0.0.1");
      socket.on("data", (data) => resolve(data.toString()));
      socket.write(`GET ${pathname}?code=c&state=${state} HTTP/1.1\r\nHost: evil.example:${port}\r\n\r\n`);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    await back(loopback, { code: "right", state });
    expect(await loopback.code()).toBe("right");
  });

  test("at another path 404, by another method 405", async () => {
    const loopback = await open();
    expect((await fetch(new URL("/favicon.ico", loopback.redirectUri))).status).toBe(404);
    const posted = await fetch(`${loopback.redirectUri}?code=c&state=${state}`, { method: "POST" });
    expect(posted.status).toBe(405);
    await back(loopback, { code: "right", state });
    expect(await loopback.code()).toBe("right");
  });
});

test("the page repeats nothing of the request, runs nothing and loads nothing", async () => {
  const loopback = await open();
  const page = await back(loopback, {
    code: "<script>alert(1)</script>",
    error_description: "<b>",
    state: "x",
  });
  const policy = page.headers.get("content-security-policy");
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'/,
  );
  expect(page.headers.get("cache-control")).toBe("no-store");
  expect(page.headers.get("referrer-policy")).toBe("no-referrer");
  const text = await page.text();
  expect(text).not.toMatch(/alert|<b>|script/);
});

describe("the wait ends", () => {
  test("with the signal's reason, and the port is free again", async () => {
    const controller = new AbortController();
    const loopback = await open({ signal: controller.signal });
    const reason = new Error("Esc");
    controller.abort(reason);
    await expect(loopback.code()).rejects.toBe(reason);
    const { port } = new URL(loopback.redirectUri);
    const again = await open({ ports: [Number(port)] });
    expect(new URL(again.redirectUri).port).toBe(port);
  });

  test("before it begins, where the signal is aborted", async () => {
    await expect(openLoopback({ state, signal: AbortSignal.abort(new Error("Esc")) })).rejects.toThrow("Esc");
  });

  test("by close, also with a browser that holds its connection and says nothing", async () => {
    const loopback = await open();
    const socket = connect(Number(new URL(loopback.redirectUri).port), "127.0.0.1");
    await new Promise((resolve) => socket.once("connect", resolve));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => {});
    loopback.close();
    loopback.close();
    await expect(loopback.code()).rejects.toMatchObject({ code: "login_cancelled" });
    await closed;
  });

  test("after the time that is given", async () => {
    const loopback = await open({ timeoutMs: 1 });
    await expect(loopback.code()).rejects.toMatchObject({ code: "login_timeout" });
  });
});

describe("the port", () => {
  test("is the first of those given that is free; the name is as the provider knows it", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    const loopback = await open({ ports: [port, 0], host: "localhost", path: "/auth/callback" });
    expect(loopback.redirectUri).toMatch(/^http:\/\/localhost:\d+\/auth\/callback$/);
    expect(new URL(loopback.redirectUri).port).not.toBe(String(port));
    await expect(openLoopback({ state, ports: [port] })).rejects.toMatchObject({ code: "login_port_taken" });
    await new Promise((resolve) => other.close(resolve));
  });
});

test("a state that can be guessed is refused", async () => {
  await expect(openLoopback({ state: "short" })).rejects.toMatchObject({ code: "login_state_weak" });
});
