import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { everyRow, loopbackServer } from "@bonsai-agent/testkit";
import { Dispatcher1Wrapper } from "undici";
import { afterEach, describe, expect, it } from "vitest";
import { proxyDispatcher } from "../../src/call/proxy.ts";

type Environment = Readonly<Record<string, string>>;

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
  const dispatcher = proxyDispatcher(env);
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

  it("prefers the variable of the protocol, and skips the hosts of NO_PROXY", async () => {
    const { address, seen } = await forwardProxy("http://127.0.0.1:1");
    const others = { ALL_PROXY: "http://127.0.0.1:1", HTTPS_PROXY: "http://127.0.0.1:2" };
    const env = { ...others, http_proxy: address, NO_PROXY: ".invalid" };
    expect(await (await fetchWith(env, "http://api.test/v1")).text()).toBe("through the proxy");
    expect(await failure(env, "http://api.invalid/v1")).toContain("api.invalid");
    expect(seen).toHaveLength(1);
  });

  it("asks for a password if the proxy wants one", () =>
    everyRow(["http://api.test/v1", "https://api.test/v1"])(async (url) => {
      const { address } = await forwardProxy("http://127.0.0.1:1", 407);
      expect(await failure({ HTTPS_PROXY: address, HTTP_PROXY: address }, url)).toMatch(
        /^The proxy requires a user and a password/,
      );
    }));

  it("explains a refused tunnel", async () => {
    const { address } = await forwardProxy("http://127.0.0.1:1", 403);
    expect(await failure({ HTTPS_PROXY: address }, "https://api.test/v1")).toBe(
      "The proxy did not connect to api.test (status 403). Check the proxy, or add the host to NO_PROXY.",
    );
  });

  it("names a variable without a valid address, but not its text", () => {
    expect(() => proxyDispatcher({ HTTP_PROXY: "http://me:secret@bad host" })).toThrow(
      /^HTTP_PROXY does not contain the address of a proxy\.$/,
    );
  });
});
