import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { everyRow, loopbackServer } from "@bonsai-agent/testkit";
import { Dispatcher1Wrapper } from "undici";
import { afterEach, describe, expect, it } from "vitest";
import { type Environment, proxyFor } from "../../src/call/proxy.ts";
import { ProxyDispatcher } from "../../src/call/proxy-dispatcher.ts";

const PROXY = "http://proxy.test:3128";

function chosen(url: string, env: Environment): string {
  return proxyFor(new URL(url), env)?.address ?? "direct";
}

describe("the choice of a proxy", () => {
  it("the variables choose a proxy in their order", () =>
    everyRow([
      ["https://api.test/v1", { HTTPS_PROXY: PROXY }],
      ["https://api.test/v1", { https_proxy: PROXY, HTTPS_PROXY: "http://other.test" }],
      ["https://api.test/v1", { https_proxy: "", HTTPS_PROXY: PROXY }],
      ["https://api.test/v1", { ALL_PROXY: PROXY, HTTP_PROXY: "http://other.test" }],
      ["https://api.test/v1", { http_proxy: PROXY }],
      ["http://api.test/v1", { HTTP_PROXY: "proxy.test:3128" }],
      ["http://api.test/v1", { all_proxy: PROXY, NO_PROXY: "other.test, api.tes,pi.test" }],
      [
        "https://api.test/v1",
        { HTTPS_PROXY: PROXY, NO_PROXY: "api.test:80,*.api.test,10.0.0.0/8,10.0.0.0/x" },
      ],
    ])(([url, env]) => {
      expect(chosen(url, env)).toBe(PROXY);
    }));

  it("local servers and the hosts of NO_PROXY are reached directly", () =>
    everyRow([
      ["http://api.test/v1", { HTTPS_PROXY: PROXY }],
      ["https://api.test/v1", { NO_PROXY: "" }],
      ["http://localhost:11434", {}],
      ["http://sub.localhost:11434", {}],
      ["http://127.0.0.1:11434", {}],
      ["http://127.8.0.1:11434", {}],
      ["http://[::1]:11434", {}],
      ["https://api.test/v1", { NO_PROXY: "*" }],
      ["https://api.test/v1", { no_proxy: "other.test,API.test" }],
      ["https://api.test/v1", { no_proxy: "api.test:443" }],
      ["https://api.test./v1", { no_proxy: "test." }],
      ["https://eu.api.test/v1", { no_proxy: ".api.test" }],
      ["https://eu.api.test/v1", { no_proxy: "*.api.test" }],
      ["http://10.1.2.3/v1", { no_proxy: "10.0.0.0/8" }],
      ["http://[fd00::1]/v1", { no_proxy: "fd00::1" }],
      ["http://[fd00::1]:8080/v1", { no_proxy: "[fd00::1]:8080" }],
    ])(([url, env]) => {
      const always = Object.keys(env).some((name) => /^https_proxy$/i.test(name)) ? {} : { ALL_PROXY: PROXY };
      expect(chosen(url, "NO_PROXY" in env && env.NO_PROXY === "" ? env : { ...always, ...env })).toBe(
        "direct",
      );
    }));
});

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A forward proxy that records each request and sends all requests to one server. */
async function forwardProxy(target: string, status?: number): Promise<{ address: string; seen: string[] }> {
  const seen: string[] = [];
  const { hostname, port } = new URL(target);
  const server: Server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers["proxy-authorization"] ?? ""}`.trim());
    if (status !== undefined) response.writeHead(status, { "content-type": "text/html" }).end("<html>");
    else response.end("through the proxy");
  });
  server.on("connect", (request, socket) => {
    seen.push(`${request.method} ${request.url}`);
    if (status !== undefined) return socket.end(`HTTP/1.1 ${status} Refused\r\n\r\n`);
    const inner = connect(Number(port), hostname, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(inner).pipe(socket);
    });
    return inner;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

async function fetchWith(env: Environment, url: string): Promise<Response> {
  const dispatcher = new ProxyDispatcher(env);
  closers.push(() => dispatcher.close());
  return fetch(url, { dispatcher: new Dispatcher1Wrapper(dispatcher) } as RequestInit);
}

async function failure(env: Environment, url: string): Promise<string> {
  const error = await fetchWith(env, url).then(
    () => new Error("It did not fail."),
    (thrown: Error) => thrown,
  );
  return String((error.cause as Error | undefined)?.message ?? error.message);
}

describe("fetch behind a proxy", () => {
  it("sends an http request to the proxy with the user and password", async () => {
    const { address, seen } = await forwardProxy("http://127.0.0.1:1");
    const response = await fetchWith(
      { HTTP_PROXY: `http://me:s%40fe@${address}` },
      "http://api.test/v1/models",
    );
    expect(await response.text()).toBe("through the proxy");
    expect(seen).toEqual([
      `GET http://api.test/v1/models Basic ${Buffer.from("me:s@fe").toString("base64")}`,
    ]);
  });

  it("asks the proxy for a tunnel to an https server", async () => {
    const { url } = await loopbackServer(() => ({ end: "refuse" })).then((server) => {
      closers.push(() => server.close());
      return server;
    });
    const { address, seen } = await forwardProxy(url);
    await failure({ HTTPS_PROXY: address }, "https://api.test/v1/models");
    expect(seen).toContain("CONNECT api.test:443");
  });

  it("reaches this machine directly", async () => {
    const server = await loopbackServer(() => ({ chunks: ["direct"] }));
    closers.push(() => server.close());
    const response = await fetchWith({ ALL_PROXY: "http://127.0.0.1:1" }, server.url);
    expect(await response.text()).toBe("direct");
  });

  it("names a proxy that does not answer, without its password", () =>
    everyRow(["http://api.test/v1", "https://api.test/v1"])(async (url) => {
      const message = await failure({ ALL_PROXY: "http://me:secret@127.0.0.1:1" }, url);
      expect(message).toContain("through the proxy http://127.0.0.1:1 (ALL_PROXY)");
      expect(message).not.toContain("secret");
    }));

  it("names the variable when the proxy wants a password", () =>
    everyRow(["http://api.test/v1", "https://api.test/v1"])(async (url) => {
      const { address } = await forwardProxy("http://127.0.0.1:1", 407);
      expect(await failure({ HTTPS_PROXY: address, HTTP_PROXY: address }, url)).toMatch(
        /^The proxy http:\/\/127\.0\.0\.1:\d+ \(HTTPS?_PROXY\) requires a user and a password[^(]*$/,
      );
    }));

  it("names the proxy that refuses a tunnel", async () => {
    const { address } = await forwardProxy("http://127.0.0.1:1", 403);
    expect(await failure({ HTTPS_PROXY: address }, "https://api.test/v1")).toBe(
      `The proxy http://${address} (HTTPS_PROXY) did not connect to api.test (status 403). Check the proxy, or add the host to NO_PROXY.`,
    );
  });

  it("names the proxy that sends a page instead of the server's answer", () =>
    everyRow([403, 502])(async (status) => {
      const { address } = await forwardProxy("http://127.0.0.1:1", status);
      expect(await failure({ HTTP_PROXY: address }, "http://api.test/v1")).toBe(
        `A request to api.test got an HTML page with status ${status} through the proxy http://${address} (HTTP_PROXY). Check the proxy, or add the host to NO_PROXY.`,
      );
    }));

  it("names a variable without a valid address, but not its text", async () => {
    const message = await failure({ HTTP_PROXY: "http://me:secret@bad host" }, "http://api.test/v1");
    expect(message).toContain("HTTP_PROXY does not contain the address of a proxy.");
    expect(message).not.toContain("secret");
  });
});
