import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { askProvider, offeredModels, type ProviderQuestion } from "@bonsai-agent/extension/testing";
import {
  type LoopbackReply,
  type LoopbackRequest,
  loopbackServer,
  providerContexts,
  sseChunks,
} from "@bonsai-agent/testkit";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import azureOpenAi from "../index.ts";

const golden = `${dirname(fileURLToPath(import.meta.url))}/golden`;
const stream = { "content-type": "text/event-stream" };

/** A reply of Responses events. */
function responses(
  events: readonly Record<string, unknown>[],
  end: LoopbackReply["end"] = "close",
): LoopbackReply {
  return {
    headers: stream,
    chunks: sseChunks(events.map((data) => ({ event: String(data.type), data }))),
    end,
  };
}

const usage = {
  input_tokens: 50,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 55,
};
const message = { id: "msg_1", type: "message", role: "assistant", status: "completed" };
const answered = [
  { type: "response.output_item.added", output_index: 0, item: { ...message, content: [] } },
  { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", content_index: 0, delta: "Hi" },
  {
    type: "response.output_item.done",
    output_index: 0,
    item: { ...message, content: [{ type: "output_text", text: "Hi", annotations: [] }] },
  },
  { type: "response.completed", response: { id: "resp_1", status: "completed", output: [], usage } },
];

function environment(variables: Record<string, string>): void {
  for (const name of Object.keys(process.env))
    if (/^(?:AZURE|OPENAI|IDENTITY|MSI)_/.test(name)) vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

async function ask(
  replies: LoopbackReply | readonly LoopbackReply[],
  question: Partial<ProviderQuestion> = {},
  variables: Record<string, string> = { AZURE_OPENAI_API_KEY: "key-1" },
) {
  const all = Array.isArray(replies) ? replies : [replies];
  const server = await loopbackServer(({ path }, at) =>
    path.startsWith("/identity") ? identity : all[Math.min(at, all.length - 1)]!,
  );
  onTestFinished(() => server.close());
  const own = Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, value.replace("SERVER", server.url)]),
  );
  environment({ AZURE_OPENAI_ENDPOINT: server.url, ...own });
  const outcome = await askProvider(azureOpenAi, { model: "azure-openai/gpt-5.2", ...question });
  return { ...outcome, requests: server.requests };
}

const identity: LoopbackReply = {
  headers: { "content-type": "application/json" },
  chunks: [
    JSON.stringify({
      access_token: "entra-1",
      expires_on: "4102444800",
      resource: "https://cognitiveservices.azure.com",
      token_type: "Bearer",
    }),
  ],
};

const contexts = providerContexts({
  provider: "azure-openai",
  model: "gpt-5.2",
  api: "openai-responses",
  signatures: {
    thinking: JSON.stringify({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "xyz" }),
  },
});

function recordOf([request]: readonly LoopbackRequest[]): string {
  const { method, path, headers, body } = request!;
  const { "content-type": type, "api-key": key, authorization } = headers;
  return `${JSON.stringify({ method, path, headers: { type, key, authorization }, body }, null, 2)}\n`;
}

describe("requests", () => {
  test.each(Object.keys(contexts))("a context of %s goes over the wire as it was recorded", async (name) => {
    const { requests, failure } = await ask(responses(answered), {
      ...contexts[name],
      thinking: "medium",
      cacheKey: "session-1",
      maxOutputTokens: 4_000,
    });
    expect(failure).toBeUndefined();
    await expect(recordOf(requests)).toMatchFileSnapshot(`${golden}/${name}.json`);
  });

  test("a dated version goes to its own addresses: Responses, and Chat Completions by deployment", async () => {
    const dated = {
      AZURE_OPENAI_API_KEY: "key-1",
      OPENAI_API_VERSION: "2025-04-01-preview",
      AZURE_OPENAI_DEPLOYMENT_NAME_MAP: "gpt-5.2=my gpt, o3 = reasoner,broken",
    };
    const { requests } = await ask(responses(answered), contexts.tools, dated);
    expect(requests[0]).toMatchObject({
      path: "/openai/responses?api-version=2025-04-01-preview",
      headers: { "api-key": "key-1" },
      body: { model: "my gpt" },
    });
    const chunk = (delta: object, finish: string | null = null) => ({
      data: {
        id: "c",
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta, finish_reason: finish }],
      },
    });
    const said = sseChunks([chunk({ content: "Hi" }), chunk({}, "stop"), { data: "[DONE]" }]);
    const chat = await ask(
      { headers: stream, chunks: said },
      { ...contexts.tools, maxOutputTokens: 4_000 },
      {
        ...dated,
        AZURE_OPENAI_API: "chat",
      },
    );
    expect(chat.message.content).toEqual([{ type: "text", text: "Hi" }]);
    await expect(recordOf(chat.requests)).toMatchFileSnapshot(`${golden}/chat-dated.json`);
  });

  test("Entra ID: a managed identity's token is the bearer, for either API", async () => {
    for (const version of ["", "2025-04-01-preview"]) {
      const { requests, failure } = await ask(
        responses(answered),
        {},
        {
          AZURE_TOKEN_CREDENTIALS: "ManagedIdentityCredential",
          IDENTITY_ENDPOINT: "SERVER/identity",
          IDENTITY_HEADER: "secret",
          OPENAI_API_VERSION: version,
        },
      );
      expect(failure).toBeUndefined();
      expect(requests.at(-1)?.headers).toMatchObject({ authorization: "Bearer entra-1" });
      expect(requests.at(-1)?.headers).not.toHaveProperty("api-key");
    }
  });

  test("what the environment says of an OpenAI account stays here", async () => {
    const { requests } = await ask(
      responses(answered),
      {},
      {
        AZURE_OPENAI_API_KEY: "key-1",
        OPENAI_API_KEY: "sk-other",
        OPENAI_ORG_ID: "org-other",
        OPENAI_BASE_URL: "http://127.0.0.1:1",
      },
    );
    expect(JSON.stringify(requests[0]?.headers)).not.toContain("other");
    expect(requests[0]?.path).toBe("/openai/v1/responses");
  });
});

describe("answers", () => {
  test("text and counts", async () => {
    const { message: said } = await ask(responses(answered), { systemPrompt: "S".repeat(200) });
    expect(said).toMatchObject({
      provider: "azure-openai",
      content: [{ type: "text", text: "Hi" }],
      usage: { input: 10, cacheRead: 40, output: 5 },
    });
  });

  const refusal = (status: number, code: string, text: string, headers = {}): LoopbackReply => ({
    status,
    headers: { "content-type": "application/json", ...headers },
    chunks: [JSON.stringify({ error: { code, message: text } })],
  });

  test("a limit of requests is waited for", async () => {
    const limited = refusal(429, "429", "Requests have exceeded the call rate limit.", {
      "retry-after": "3",
    });
    const { notices, failure } = await ask([limited, responses(answered)], { maxRetries: 1 });
    expect(failure).toBeUndefined();
    expect(notices).toMatchObject([{ type: "retry", delayMs: 3_000, failure: { kind: "rateLimit" } }]);
  });

  test("a context that is too long", async () => {
    const text =
      "Your input exceeds the context window of this model. Please adjust your input and try again.";
    const { failure } = await ask(refusal(400, "context_length_exceeded", text));
    expect(failure).toMatchObject({ kind: "inputTooLong", status: 400 });
  });

  test.each([
    [
      401,
      "401",
      "Access denied due to invalid subscription key or wrong API endpoint.",
      "AZURE_OPENAI_API_KEY",
    ],
    [
      403,
      "AuthenticationTypeDisabled",
      "Key based authentication is disabled.",
      "Cognitive Services OpenAI User",
    ],
    [
      404,
      "DeploymentNotFound",
      "The API deployment for this resource does not exist.",
      "AZURE_OPENAI_DEPLOYMENT_NAME_MAP",
    ],
  ])("%i %s names the setting", async (status, code, text, setting) => {
    const { failure } = await ask(refusal(status, code, text));
    expect(failure).toMatchObject({ kind: "other", status, code, retryable: false });
    expect(failure?.message).toContain(text);
    expect(failure?.message).toContain(setting);
  });

  test("a stream that is cut, an error in it, and a line that is no JSON", async () => {
    const begun = answered.slice(0, 2);
    const failed = { type: "error", code: "server_error", message: "The server had an error.", param: null };
    const replies: LoopbackReply[] = [
      responses(begun, "cut"),
      responses(begun),
      responses([...begun, failed]),
      { headers: stream, chunks: [...sseChunks(begun.map((data) => ({ data }))), "data: {oops\n\n"] },
    ];
    for (const reply of replies) {
      const { failure, message: said } = await ask(reply);
      expect(failure).toMatchObject({ kind: "other", retryable: true });
      expect(said.content).toEqual([{ type: "text", text: "Hi" }]);
    }
  });

  test("an abort", async () => {
    const { message: said } = await ask(responses(answered), { signal: AbortSignal.abort() });
    expect(said.stopReason).toBe("aborted");
  });
});

describe("what is missing is said before any request", () => {
  test.each([
    [{ AZURE_OPENAI_ENDPOINT: "", AZURE_OPENAI_API_KEY: "key-1" }, "Set AZURE_OPENAI_ENDPOINT"],
    [{ AZURE_OPENAI_ENDPOINT: "my-resource", AZURE_OPENAI_API_KEY: "key-1" }, "is not a web address"],
    [{}, "AZURE_OPENAI_API_KEY"],
  ])("%j", async (variables, words) => {
    const { failure, requests } = await ask(responses(answered), {}, variables);
    expect(failure?.retryable).toBe(false);
    expect(failure?.message).toContain(words);
    expect(requests).toEqual([]);
  });

  test("an identity that gives no token", async () => {
    const variables = { AZURE_TOKEN_CREDENTIALS: "EnvironmentCredential" };
    const { failure, requests } = await ask(responses(answered), {}, variables);
    expect(failure).toMatchObject({ code: "azure_no_token", retryable: false });
    expect(failure?.message).toContain("az login");
    expect(requests).toEqual([]);
  });

  test("models are offered where there is an endpoint and a key, by the map of deployments where there is one", async () => {
    environment({});
    expect(await offeredModels(azureOpenAi)).toEqual([]);
    const endpoint = {
      AZURE_OPENAI_ENDPOINT: "https://x.openai.azure.com/openai/v1/",
      AZURE_OPENAI_API_KEY: "k",
    };
    environment(endpoint);
    expect((await offeredModels(azureOpenAi)).length).toBeGreaterThan(5);
    environment({ ...endpoint, AZURE_OPENAI_DEPLOYMENT_NAME_MAP: "gpt-4.1=mine,grok-4=theirs" });
    const offered = await offeredModels(azureOpenAi);
    expect(offered.map(({ id, contextWindow }) => [id, contextWindow])).toEqual([
      ["gpt-4.1", 1_047_576],
      ["grok-4", undefined],
    ]);
    expect(offered[0]?.baseUrl).toBe("https://x.openai.azure.com");
  });
});
