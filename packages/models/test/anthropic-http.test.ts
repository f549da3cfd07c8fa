import { everyRow, type LoopbackReply, type LoopbackServer, loopbackServer } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  callBlock,
  claude,
  exchange,
  messageEnd,
  messageStart,
  streamOf,
  textBlock,
} from "./anthropic-exchange.ts";
import { failureOf } from "./provider-exchange.ts";

let server: LoopbackServer | undefined;

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await server?.close();
  server = undefined;
});

async function serve(reply: LoopbackReply): Promise<string> {
  server = await loopbackServer(() => reply);
  return server.url;
}

describe("the request", () => {
  const reply = streamOf([messageStart(), ...textBlock(0, "x"), ...messageEnd("end_turn")]);

  test("goes to the Messages API with the key and the provider's headers", async () => {
    const url = await serve(reply);
    await exchange(`${url}/v1/`, { model: { ...claude, headers: { "X-Team": "trees" } } });
    const [request] = server?.requests ?? [];
    expect(request).toMatchObject({ method: "POST", path: "/v1/messages" });
    expect(request?.headers).toMatchObject({
      authorization: "Bearer key-1",
      "x-api-key": "key-1",
      "x-team": "trees",
      "x-stainless-retry-count": "0",
    });
    expect(request?.body).toMatchObject({ model: claude.id, max_tokens: 8_000, stream: true });
    expect(request?.body).not.toHaveProperty("temperature");
  });

  test("carries images, calls, results and breakpoints as the API wants them", async () => {
    const image = { type: "image", data: "iVBORw0=", mimeType: "image/png" } as const;
    const calling = streamOf([
      messageStart(),
      ...callBlock(0, "toolu_a", "read", "{}"),
      ...messageEnd("tool_use"),
    ]);
    server = await loopbackServer((_request, index) => (index === 0 ? calling : reply));
    const { message: first } = await exchange(server.url);
    await exchange(server.url, {
      tools: [{ name: "read", description: "Reads", parameters: { type: "object", properties: {} } }],
      messages: [
        { role: "user", content: [{ type: "text", text: "See" }, image], timestamp: 0 },
        first,
        {
          role: "toolResult",
          toolCallId: "toolu_a",
          toolName: "read",
          content: [image],
          isError: false,
          timestamp: 0,
        },
      ],
    });
    const cache_control = { type: "ephemeral" };
    const source = { type: "base64", media_type: "image/png", data: "iVBORw0=" };
    expect(server.requests[1]?.body).toEqual({
      model: claude.id,
      max_tokens: 8_000,
      stream: true,
      system: [{ type: "text", text: "Be brief.", cache_control }],
      tools: [
        {
          name: "read",
          description: "Reads",
          input_schema: { type: "object", properties: {} },
          cache_control,
        },
      ],
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "low" },
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "See" },
            { type: "image", source, cache_control },
          ],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_a", name: "read", input: {} }] },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "toolu_a",
              content: [{ type: "image", source }],
              cache_control,
            },
          ],
        },
      ],
    });
  });

  test("without a key none is sent, and nothing of the environment", () =>
    everyRow([
      ["keys", { ANTHROPIC_API_KEY: "secret", ANTHROPIC_AUTH_TOKEN: "secret" }],
      ["headers", { ANTHROPIC_CUSTOM_HEADERS: "X-Mine: secret\nnonsense" }],
      [
        "an identity",
        {
          ANTHROPIC_IDENTITY_TOKEN: "secret",
          ANTHROPIC_FEDERATION_RULE_ID: "secret",
          ANTHROPIC_ORGANIZATION_ID: "secret",
        },
      ],
    ])(async ([, variables]) => {
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
      const url = await serve(reply);
      const { error } = await exchange(url, { apiKey: undefined });
      expect(error).toBeUndefined();
      expect(server?.requests).toHaveLength(1);
      expect(JSON.stringify(server?.requests)).not.toContain("secret");
      expect(server?.requests[0]?.headers).not.toHaveProperty("authorization");
    }));

  test("nothing is written to the console", () =>
    everyRow(["claude-sonnet-4-5", "claude-opus-4-6"])(async (id) => {
      vi.stubEnv("ANTHROPIC_LOG", "debug");
      const spies = (["log", "warn", "error", "info", "debug"] as const).map((level) =>
        vi.spyOn(console, level),
      );
      const url = await serve({
        ...reply,
        chunks: [...(reply.chunks ?? []).slice(0, 2), "event: x\ndata: {no\n\n"],
      });
      const result = await exchange(url, { model: { ...claude, id }, thinking: "high" });
      expect(failureOf(result).kind).toBe("garbled");
      for (const spy of spies) expect(spy).not.toHaveBeenCalled();
    }));
});
