import { type LoopbackRequest, providerContexts } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { ask, golden, hi, streamed } from "./loopback-gemini.ts";

const contextsOf = (model: string) =>
  providerContexts({
    provider: "gemini",
    model,
    api: "extension",
    signatures: { thinking: "dGhvdWdodA==", call: "Y2FsbA==" },
  });
const contexts = contextsOf("gemini-4-argon");

function recordOf([request]: readonly LoopbackRequest[]): string {
  const { method, path, headers, body } = request!;
  const { "content-type": type, "x-goog-api-key": key, authorization } = headers;
  return `${JSON.stringify({ method, path, headers: { type, key, authorization }, body }, null, 2)}\n`;
}

test.each(Object.keys(contexts))("a context of %s goes over the wire as it was recorded", async (name) => {
  const { requests, failure } = await ask(streamed(hi), {
    ...contexts[name],
    thinking: "low",
    maxOutputTokens: 4_000,
  });
  expect(failure).toBeUndefined();
  await expect(recordOf(requests)).toMatchFileSnapshot(`${golden}/${name}.json`);
});

test("Vertex AI: by project and location, with application-default credentials", async () => {
  const question = { ...contexts.tools, model: "vertex/gemini-3.8-flash", maxOutputTokens: 4_000 };
  // The keys of the other service are not taken, and nothing is written to the console.
  const { requests, failure } = await ask(streamed(hi), question, {
    GOOGLE_CLOUD_LOCATION: "europe-west4",
    GOOGLE_API_KEY: "other-1",
  });
  expect(failure).toBeUndefined();
  await expect(recordOf(requests)).toMatchFileSnapshot(`${golden}/vertex.json`);
});

test("Gemini 2.5: images stand behind the results, and calls have no ids and no signatures of others", async () => {
  const { images } = contextsOf("another");
  const question = { ...images, model: "gemini/gemini-2.5-flash", maxOutputTokens: 4_000 };
  const { requests, failure } = await ask(streamed(hi), question);
  expect(failure).toBeUndefined();
  await expect(recordOf(requests)).toMatchFileSnapshot(`${golden}/images-2.5.json`);
});

describe("thinking", () => {
  test.each([
    ["gemini-4-argon", "off", { thinkingLevel: "LOW" }],
    ["gemini-4-argon", "medium", { thinkingLevel: "MEDIUM", includeThoughts: true }],
    ["gemini-4-argon", "xhigh", { thinkingLevel: "HIGH", includeThoughts: true }],
    ["gemini-3.5-flash", "off", { thinkingLevel: "MINIMAL" }],
    ["gemini-3.8-flash", "minimal", { thinkingLevel: "LOW", includeThoughts: true }],
    ["gemini-2.5-flash", "off", { thinkingBudget: 0 }],
    ["gemini-2.5-flash", "high", { thinkingBudget: 6_000, includeThoughts: true }],
    ["gemini-2.5-pro", "off", { thinkingBudget: 128 }],
    ["gemini-2.5-pro", "low", { thinkingBudget: 2_048, includeThoughts: true }],
    ["gemma-3-27b-it", "high", undefined],
  ] as const)("%s at %s", async (id, thinking, thinkingConfig) => {
    const { requests } = await ask(streamed(hi), { model: `gemini/${id}`, thinking, maxOutputTokens: 8_000 });
    expect(requests[0]?.body).toMatchObject({ generationConfig: { maxOutputTokens: 8_000 } });
    const body = requests[0]?.body as { generationConfig: object } | undefined;
    expect(body?.generationConfig).toEqual({
      maxOutputTokens: 8_000,
      ...(thinkingConfig && { thinkingConfig }),
    });
  });
});

test("a schema's const becomes a list of one; names of properties and values stay", async () => {
  const parameters = {
    type: "object",
    properties: {
      const: { type: "string" },
      kind: { const: "a" },
      any: { anyOf: [{ const: 1 }], default: { const: 2 } },
    },
  };
  const { requests } = await ask(streamed(hi), { tools: [{ name: "t", description: "T", parameters }] });
  expect(requests[0]?.body).toMatchObject({
    tools: [
      {
        functionDeclarations: [
          {
            parametersJsonSchema: {
              type: "object",
              properties: {
                const: { type: "string" },
                kind: { enum: ["a"] },
                any: { anyOf: [{ enum: [1] }], default: { const: 2 } },
              },
            },
          },
        ],
      },
    ],
  });
});
