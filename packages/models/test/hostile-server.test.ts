import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { gzipSync } from "node:zlib";
import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, expect, test } from "vitest";
import { AnswerBuilder, finalEvent, ModelClient, type ModelNotice, ProviderError } from "../src/index.ts";
import { callOf, turnOf } from "./openai-exchange.ts";
import { type ProviderWire, providerWires } from "./provider-wires.ts";

const everyWire = everyRow(providerWires);
const answerTo = (wire: ProviderWire) => (wire.text().chunks ?? []).join("");

const servers: (Server | TcpServer)[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    if ("closeAllConnections" in server) server.closeAllConnections();
    server.close();
  }
});

async function listening(server: Server | TcpServer): Promise<string> {
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serve = (listener: RequestListener) => listening(createServer(listener));

/** A server that writes these bytes to the socket, whatever is asked, and hangs up. */
const serveRaw = (bytes: string | Buffer) =>
  listening(createTcpServer((socket) => socket.on("error", () => {}).once("data", () => socket.end(bytes))));

async function ask(
  wire: ProviderWire,
  baseUrl: string,
  options: { signal?: AbortSignal; onAlive?: () => void } = {},
) {
  const model = { ...wire.model, baseUrl };
  const answer = new AnswerBuilder(model, 0);
  try {
    const call = callOf({ model, ...options });
    for await (const _event of wire.provider().stream(call, answer));
    return { message: answer.message };
  } catch (error) {
    return { message: answer.message, error };
  }
}

const sse = { "content-type": "text/event-stream" };
const said = { content: [{ type: "text", text: "All." }], stopReason: "stop" };

test("comments and empty lines are signs of life before there is any event", () =>
  everyWire(async (wire) => {
    const url = await serve((_request, response) => {
      response.writeHead(200, sse);
      response.write(": AT WORK\n\n");
    });
    const aborter = new AbortController();
    let signs = 0;
    const onAlive = () => {
      signs += 1;
      // The head, and the comment.
      if (signs === 2) aborter.abort();
    };
    await ask(wire, url, { signal: aborter.signal, onAlive });
    expect(signs).toBe(2);
  }));

test("events without data, other line ends, comments and a byte-order mark change nothing", () =>
  everyWire((wire) =>
    everyRow<[string, (answer: string) => string]>([
      ["events without data", (answer) => `event: ping\n\ndata:\n\ndata: \n\n${answer}`],
      ["data lines that are blank", (answer) => answer.replaceAll("data: {", "data:\ndata: {")],
      ["carriage returns", (answer) => answer.replaceAll("\n", "\r\n")],
      ["two farewells", (answer) => `${answer}data: [DONE]\n\ndata: [DONE]\n\n`],
      ["a byte-order mark", (answer) => `\ufeff${answer}`],
      ["comments everywhere", (answer) => answer.replaceAll("data: {", ": hm\ndata: {")],
    ])(async ([, changed]) => {
      const url = await serve((_request, response) => {
        response.writeHead(200, sse);
        response.end(changed(answerTo(wire)));
      });
      const { message, error } = await ask(wire, url);
      expect(error).toBeUndefined();
      expect(message).toMatchObject(said);
    }),
  ));

test("characters that are split between two parts come whole, and bytes that are none are replaced", () =>
  everyWire(async (wire) => {
    const bytes = Buffer.from(answerTo(wire).replace("All.", "Añ😀\u0000."), "utf8");
    const broken = Buffer.from(bytes);
    broken[broken.indexOf(0)] = 0xff;
    const url = await serve(async (_request, response) => {
      response.writeHead(200, sse);
      for (const byte of broken) await new Promise((resolve) => response.write(Buffer.of(byte), resolve));
      response.end();
    });
    const { message, error } = await ask(wire, url);
    expect(error).toBeUndefined();
    expect(message.content).toEqual([{ type: "text", text: "Añ😀\ufffd." }]);
  }));

test("an answer of HTTP/1.0 without a length is read", () =>
  everyWire(async (wire) => {
    const url = await serveRaw(`HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n${answerTo(wire)}`);
    expect((await ask(wire, url)).message).toMatchObject(said);
  }));

test("a length that is too small cuts the answer off", () =>
  everyWire(async (wire) => {
    const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 40\r\n\r\n";
    const { error } = await ask(wire, await serveRaw(`${head}${answerTo(wire)}`));
    expect(error).toBeInstanceOf(ProviderError);
    expect((error as ProviderError).kind).toMatch(/cut|garbled|network/);
  }));

test("an answer that is no HTTP is a network error", () =>
  everyWire(async (wire) => {
    const { error } = await ask(wire, await serveRaw("SSH-2.0-server\r\n"));
    expect(error).toMatchObject({ kind: "network" });
  }));

test("endless headers are refused by the runtime", () =>
  everyWire(async (wire) => {
    const { error } = await ask(wire, await serveRaw(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(1_000_000)}`));
    expect(error).toMatchObject({ kind: "network" });
  }));

test("a redirection is not followed: another host never sees key or conversation", () =>
  everyWire(async (wire) => {
    const visits: string[] = [];
    const other = await serve((request, response) => {
      visits.push(request.url ?? "");
      response.end();
    });
    for (const status of [301, 302, 303, 307, 308]) {
      const url = await serve((_request, response) => {
        response.writeHead(status, { location: `${other}/elsewhere?token=secret-1` });
        response.end();
      });
      const { error } = await ask(wire, url);
      expect(error).toMatchObject({ kind: "refused", code: "redirected", status });
      expect((error as Error).message).toContain(`redirects to ${other}/elsewhere.`);
    }
    expect(visits).toEqual([]);
  }));

test("a page with a status of success is an error once, with its title and what may be wrong", () =>
  everyWire(async (wire) => {
    let asked = 0;
    const url = await serve((_request, response) => {
      asked += 1;
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end("<!doctype html><html><head><title>Log in</title></head><body>quota</body></html>");
    });
    const notices: ModelNotice[] = [];
    const model = { ...wire.model, baseUrl: url };
    const onNotice = (notice: ModelNotice) => void notices.push(notice);
    const final = await finalEvent(new ModelClient().stream(turnOf(model, { onNotice })));
    expect(final).toMatchObject({
      failure: {
        kind: "other",
        code: "page_instead",
        retryable: false,
        message: expect.stringMatching(/an HTML page \("Log in"\) instead of an answer \(status 200\).*\/v1/),
      },
    });
    expect(asked).toBe(1);
    expect(notices).toEqual([]);
  }));

test("only the beginning of an endless page is read", () =>
  everyWire(async (wire) => {
    const url = await serve((_request, response) => {
      response.on("error", () => {}).writeHead(500, { "content-type": "text/html" });
      const more = () => {
        while (!response.destroyed && response.write("<p>sorry</p>".repeat(10_000)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    });
    expect((await ask(wire, url)).error).toMatchObject({ kind: "refused", status: 500 });
  }));

// All protocols share one event reader.
test("an endless event fails, even if it arrives small and compressed", async () => {
  const bomb = gzipSync(Buffer.concat([Buffer.from("data: "), Buffer.alloc(40 * 1024 * 1024, "a")]));
  const url = await serve((_request, response) => {
    response.on("error", () => {}).writeHead(200, { ...sse, "content-encoding": "gzip" });
    response.end(bomb);
  });
  expect(bomb.length).toBeLessThan(200_000);
  const { error } = await ask(providerWires[0]!, url);
  expect(error).toMatchObject({ kind: "excess", code: "answer_too_large" });
});

test("no failure shows the password of an address", () =>
  everyWire(async (wire) => {
    const url = (await serve((_request, response) => void response.writeHead(401).end("no"))).replace(
      "//",
      "//me:verysecret@",
    );
    for (const baseUrl of [url, "http://me:verysecret@127.0.0.1:1/v1"]) {
      const final = await finalEvent(
        new ModelClient({ retry: { maxRetries: 0 } }).stream(turnOf({ ...wire.model, baseUrl })),
      );
      expect(final).toMatchObject({ type: "error", failure: { message: expect.stringMatching(/\w/) } });
      expect(JSON.stringify(final)).not.toContain("verysecret");
    }
  }));
