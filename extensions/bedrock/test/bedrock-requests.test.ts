import { type LoopbackRequest, providerContexts } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { ask, golden, saying, streamed } from "./loopback-bedrock.ts";

const claude = "global.anthropic.claude-sonnet-5-5";
const contexts = providerContexts({
  provider: "bedrock",
  model: claude,
  api: "extension",
  signatures: { thinking: "c2lnbmVk" },
});

test.each(Object.keys(contexts))("a context of %s goes over the wire as it was recorded", async (name) => {
  const { requests, failure } = await ask(streamed(saying("Hi")), {
    ...contexts[name],
    maxOutputTokens: 4_000,
  });
  expect(failure).toBeUndefined();
  const [{ method, path, headers, body } = {} as never] = requests;
  const { "content-type": type, authorization } = headers;
  expect(authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIDTEST\/\d{8}\/us-east-1\/bedrock\/aws4_request/,
  );
  const recorded = JSON.stringify({ method, path, headers: { "content-type": type }, body }, null, 2);
  await expect(`${recorded}\n`).toMatchFileSnapshot(`${golden}/${name}.json`);
});

function bodyOf([request]: readonly LoopbackRequest[]): Record<string, unknown> {
  return request?.body as Record<string, unknown>;
}

const read = { name: "read", description: "", parameters: { type: "object" } };

test.each([
  ["global.anthropic.claude-sonnet-5-5", "off", { thinking: { type: "between_tools" } }],
  [
    "global.anthropic.claude-sonnet-5-5",
    "high",
    { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "high" } },
  ],
  [
    "global.anthropic.claude-haiku-4-5-20251001-v1:0",
    "medium",
    { thinking: { type: "enabled", budget_tokens: 10_240 } },
  ],
  ["global.anthropic.claude-haiku-4-5-20251001-v1:0", "off", undefined],
  [
    "global.amazon.nova-2-lite-v1:0",
    "low",
    { reasoningConfig: { type: "enabled", maxReasoningEffort: "low" } },
  ],
  ["global.amazon.nova-2-lite-v1:0", "off", undefined],
  ["global.openai.gpt-6.1-sol", "xhigh", { reasoning: { effort: "xhigh" } }],
  ["global.openai.gpt-6.1-sol", "minimal", { reasoning: { effort: "low" } }],
  ["global.openai.gpt-6.1-sol", "off", { reasoning: { effort: "none" } }],
  ["global.openai.gpt-6-astra", "off", { reasoning: { effort: "low" } }],
  ["openai.gpt-oss-120b-1:0", "high", { reasoning_effort: "high" }],
  ["deepseek.v3.2", "high", undefined],
] as const)("%s at %s is asked to think in its own words", async (id, thinking, fields) => {
  const { requests } = await ask(streamed(saying("Hi")), { model: `bedrock/${id}`, thinking, tools: [read] });
  expect(bodyOf(requests).additionalModelRequestFields).toEqual(fields);
});

test("Nova's highest effort goes without a cap; other models have one", async () => {
  const capOf = async (model: string) => {
    const { requests } = await ask(streamed(saying("Hi")), { model, thinking: "high", maxOutputTokens: 900 });
    return bodyOf(requests).inferenceConfig;
  };
  expect(await capOf("bedrock/global.amazon.nova-2-lite-v1:0")).toBeUndefined();
  expect(await capOf("bedrock/global.openai.gpt-6.1-sol")).toEqual({ maxTokens: 900 });
});

test("cache points stand where the model takes them, and not in a question asked once", async () => {
  const pointsOf = async (model: string, purpose: "turn" | "summary") => {
    const { requests } = await ask(streamed(saying("Hi")), {
      model,
      purpose,
      systemPrompt: "S",
      tools: [read],
    });
    const { system, toolConfig, messages } = bodyOf(requests);
    const has = (blocks: unknown) => JSON.stringify(blocks).includes("cachePoint");
    return [has(toolConfig), has(system), has(messages)];
  };
  expect(await pointsOf("bedrock/global.anthropic.claude-sonnet-5-5", "turn")).toEqual([true, true, true]);
  expect(await pointsOf("bedrock/global.anthropic.claude-sonnet-5-5", "summary")).toEqual([
    false,
    false,
    false,
  ]);
  expect(await pointsOf("bedrock/global.amazon.nova-2-lite-v1:0", "turn")).toEqual([false, true, true]);
  expect(await pointsOf("bedrock/deepseek.v3.2", "turn")).toEqual([false, false, false]);
});

test("a Bedrock API key goes as a bearer token; the ARN of a profile names the region", async () => {
  const model = "bedrock/arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc";
  const { requests } = await ask(
    streamed(saying("Hi")),
    { model },
    { AWS_BEARER_TOKEN_BEDROCK: "bedrock-key-1" },
  );
  expect(requests[0]?.headers.authorization).toBe("Bearer bedrock-key-1");
  expect(requests[0]?.path).toContain("arn%3Aaws%3Abedrock%3Aeu-west-1");
});
