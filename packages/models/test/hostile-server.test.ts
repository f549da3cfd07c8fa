import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { gzipSync } from "node:zlib";
import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { anthropicProvider } from "../src/anthropic/anthropic.ts";
import {
  AnswerBuilder,
  type CatalogueModel,
  finalEvent,
  ModelClient,
  type ModelNotice,
  type Provider,
  ProviderError,
} from "../src/index.ts";
import { openaiChatProvider } from "../src/openai/openai-chat.ts";
import { openaiResponsesProvider } from "../src/openai/openai-responses.ts";
import {
  streamOf as anthropicStream,
  claude,
  messageEnd,
  messageStart,
  textBlock,
} from "./anthropic-exchange.ts";
import {
  callOf,
  delta,
  finish,
  gpt,
  local,
  responseEnd,
  responsesOf,
  streamOf,
  usageChunk,
} from "./openai-exchange.ts";

interface Wire {
  model: CatalogueModel;
  provider: () => Provider;
  /** A whole answer that says "All." */
  answer: string;
}

const text = (chunks: readonly (string | Uint8Array)[] = []) => chunks.join("");
const wires: Record<string, Wire> = {
  "anthropic-messages": {
    model: claude,
    provider: anthropicProvider,
    answer: text(
      anthropicStream([messageStart(), ...textBlock(0, "All."), ...messageEnd("end_turn")]).chunks,
    ),
  },
  "openai-chat": {
    model: local,
    provider: openaiChatProvider,
    answer: text(
      streamOf([
        delta({ content: "All." }),
        finish(),
        usageChunk({ prompt_tokens: 5, completion_tokens: 2 }),
        "[DONE]",
      ]).chunks,
    ),
  },
  "openai-responses": {
    model: gpt,
    provider: openaiResponsesProvider,
    answer: text(
      responsesOf([
        { type: "response.output_text.delta", output_index: 0, delta: "All." },
        responseEnd({ usage: { input_tokens: 5, output_tokens: 2 } }),
      ]).chunks,
    ),
  },
};

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
  wire: Wire,
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

describe.each(Object.entries(wires))("%s", (_name, wire) => {
  test("comments and empty lines are signs of life before there is any event", async () => {
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
  });

  test.each<[string, (answer: string) => string]>([
    ["events without data", (answer) => `event: ping\n\ndata:\n\ndata: \n\n${answer}`],
    ["data lines that are blank", (answer) => answer.replaceAll("data: {", "data:\ndata: {")],
    ["carriage returns", (answer) => answer.replaceAll("\n", "\r\n")],
    ["two farewells", (answer) => `${answer}data: [DONE]\n\ndata: [DONE]\n\n`],
    ["a byte-order mark", (answer) => `\ufeff${answer}`],
    ["comments everywhere", (answer) => answer.replaceAll("data: {", ": hm\ndata: {")],
  ])("%s change nothing", async (_what, changed) => {
    const url = await serve((_request, response) => {
      response.writeHead(200, sse);
      response.end(changed(wire.answer));
    });
    const { message, error } = await ask(wire, url);
    expect(error).toBeUndefined();
    expect(message).toMatchObject(said);
  });

  test("characters that are split between two parts come whole, and bytes that are none are replaced", async () => {
    const bytes = Buffer.from(wire.answer.replace("All.", "Añ😀\u0000."), "utf8");
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
  });

  test("HTTP/1.0 without a length", async () => {
    const url = await serveRaw(`HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n${wire.answer}`);
    expect((await ask(wire, url)).message).toMatchObject(said);
  });

  test("a length that is too small cuts the answer off", async () => {
    const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 40\r\n\r\n";
    const { error } = await ask(wire, await serveRaw(`${head}${wire.answer}`));
    expect(error).toBeInstanceOf(ProviderError);
    expect((error as ProviderError).kind).toMatch(/cut|garbled|network/);
  });

  test("an answer that is no HTTP is a network error", async () => {
    const { error } = await ask(wire, await serveRaw("SSH-2.0-server\r\n"));
    expect(error).toMatchObject({ kind: "network" });
  });

  test("endless headers are refused by the runtime", async () => {
    const { error } = await ask(wire, await serveRaw(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(1_000_000)}`));
    expect(error).toMatchObject({ kind: "network" });
  });

  test("a redirection is not followed: another host never sees key or conversation", async () => {
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
  });

  test("a page with a status of success is an error once, with its title and what may be wrong", async () => {
    let asked = 0;
    const url = await serve((_request, response) => {
      asked += 1;
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end("<!doctype html><html><head><title>Log in</title></head><body>quota</body></html>");
    });
    const notices: ModelNotice[] = [];
    const model = { ...wire.model, baseUrl: url };
    const onNotice = (notice: ModelNotice) => void notices.push(notice);
    const final = await finalEvent(
      new ModelClient().stream({
        model,
        purpose: "turn",
        systemPrompt: "",
        tools: [],
        messages: [],
        onNotice,
      }),
    );
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
  });

  test("only the beginning of an endless page is read", async () => {
    const url = await serve((_request, response) => {
      response.on("error", () => {}).writeHead(500, { "content-type": "text/html" });
      const more = () => {
        while (!response.destroyed && response.write("<p>sorry</p>".repeat(10_000)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    });
    expect((await ask(wire, url)).error).toMatchObject({ kind: "refused", status: 500 });
  });
});

// All protocols share one event reader.
test("an endless event fails, even if it arrives small and compressed", async () => {
  const bomb = gzipSync(Buffer.concat([Buffer.from("data: "), Buffer.alloc(40 * 1024 * 1024, "a")]));
  const url = await serve((_request, response) => {
    response.on("error", () => {}).writeHead(200, { ...sse, "content-encoding": "gzip" });
    response.end(bomb);
  });
  expect(bomb.length).toBeLessThan(200_000);
  const { error } = await ask(wires["anthropic-messages"]!, url);
  expect(error).toMatchObject({ kind: "excess", code: "answer_too_large" });
});

test("no failure shows the password of an address", () =>
  everyRow(Object.entries(wires))(async ([, wire]) => {
    const url = (await serve((_request, response) => void response.writeHead(401).end("no"))).replace(
      "//",
      "//me:verysecret@",
    );
    for (const baseUrl of [url, "http://me:verysecret@127.0.0.1:1/v1"]) {
      const final = await finalEvent(
        new ModelClient({ retry: { maxRetries: 0 } }).stream({
          model: { ...wire.model, baseUrl },
          purpose: "turn",
          systemPrompt: "",
          tools: [],
          messages: [],
        }),
      );
      expect(final).toMatchObject({ type: "error", failure: { message: expect.stringMatching(/\w/) } });
      expect(JSON.stringify(final)).not.toContain("verysecret");
    }
  }));
