import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { classifyFailure } from "../src/failure/classify.ts";
import type { FailureKind, ModelFailure } from "../src/model-request.ts";
import { ProviderError } from "../src/provider.ts";
import { classified, type Said } from "./classified.ts";

type Row = [provider: string, message: string, kind: FailureKind, numbers: Partial<ModelFailure>, said: Said];

/** Provider, kind with the tokens of input and window, message, and the error's other fields. */
const TABLE = `
anthropic | inputTooLong 213462/200000 | prompt is too long: 213462 tokens > 200000 maximum
anthropic | outputCapTooLarge 188059/200000 | input length and \`max_tokens\` exceed context limit: 188059 + 20000 > 200000, decrease input length or \`max_tokens\` and try again
anthropic | inputTooLong 208059/200000 | input length and \`max_tokens\` exceed context limit: 208059 + 20000 > 200000, decrease input length or \`max_tokens\` and try again
anthropic | bytesTooLarge | request_too_large | {"status":413}
anthropic | bytesTooLarge | Request exceeds the maximum size | {"status":413}
anthropic | inputTooLong | model_context_window_exceeded
anthropic | inputTooLong | prompt is too long: 3 tokens > 2 maximum
openai | inputTooLong | Bad request | {"code":"context_length_exceeded"}
openai | inputTooLong | Your input exceeds the context window of this model
openai | inputTooLong 130557/128000 | This model's maximum context length is 128000 tokens. However, your messages resulted in 130557 tokens. Please reduce the length of the messages.
openai | inputTooLong | Input tokens exceed the configured limit
openai | inputTooLong 300123/272000 | Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens.
azure | inputTooLong | ContextWindowExceededError
azure | inputTooLong | Context Window exceeded for given call
litellm | inputTooLong ?/131072 | litellm.MidStreamFallbackError: litellm.ServiceUnavailableError: the prompt exceeds the model's maximum context length of 131072 tokens | {"status":503}
google | inputTooLong 1196265/1048575 | The input token count (1196265) exceeds the maximum number of tokens allowed (1048575) | {"code":"INVALID_ARGUMENT"}
xai | inputTooLong 537812/131072 | This model's maximum prompt length is 131072 but the request contains 537812 tokens
groq | inputTooLong | Please reduce the length of the messages or completion
any | inputTooLong ?/8192 | The request exceeds the model's maximum context length of 8192 tokens. Please reduce the length of the messages or completion.
openrouter | inputTooLong 42832/32768 | This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one, or use the "middle-out" transform
openrouter | outputCapTooLarge 17000/128000 | This endpoint's maximum context length is 128000 tokens. However, you requested about 145000 tokens (17000 of text input, 128000 in the output). Please reduce the length of either one, or use the "middle-out" transform
poolside | inputTooLong 140000/131072 | Input length 140000 exceeds the maximum allowed input length of 131072 tokens.
deepseek | outputCapTooLarge 122942/131072 | This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion. | {"code":"invalid_request_error"}
deepseek | inputTooLong 132942/131072 | This model's maximum context length is 131072 tokens. However, you requested 141134 tokens (132942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.
openai | outputCapTooLarge 6500/8192 | This model's maximum context length is 8192 tokens. However, you requested 8500 tokens (6000 in the messages, 500 in the functions, and 2000 in the completion).
vllm | outputCapTooLarge 2778/4096 | 'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 4096 tokens and your request has 2778 input tokens
vllm | inputTooLong ?/4096 | The decoder prompt (length 5000) is longer than the maximum model length of 4096.
vllm | inputTooLong | maximum model length is
mistral | inputTooLong 40000/32768 | Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length
amazon-bedrock | inputTooLong | ValidationException: Input is too long for requested model
amazon-bedrock | inputTooLong | too many total text bytes
amazon-bedrock | inputTooLong 903884/? | prompt is too long: 903884 tokens > 200000 maximum
amazon-bedrock | outputCapTooLarge 137217/202752 | This model's maximum context length is 202752 tokens. However, you requested 65536 output tokens and your prompt contains at least 137217 input tokens, for a total of at least 202753 tokens.
amazon-bedrock | rateLimit | ThrottlingException: Too many tokens, please wait before trying again.
moonshot | inputTooLong 300000/262144 | Your request exceeded model token limit: 262144 (requested: 300000)
moonshot | bytesTooLarge | total message size 2306631 exceeds limit 2097152
minimax | inputTooLong | invalid params, context window exceeds limit
zai | inputTooLong | 1261 | {"code":"1261"}
zai | inputTooLong | Prompt too long | {"code":"1261"}
zai | inputTooLong | Prompt exceeds max length
zai | inputTooLong | The tokens of your input have exceeded the model's maximum context length | {"code":"1214"}
dashscope | inputTooLong ?/129024 | Range of input length should be [1, 129024]
together | inputTooLong 516368/262144 | The input (516368 tokens) is longer than the model's context length (262144 tokens).
together | inputTooLong ?/8193 | Input validation error: inputs tokens + max_new_tokens must be <= 8193
together | outputCapTooLarge 7000/8193 | Input validation error: \`inputs\` tokens + \`max_new_tokens\` must be <= 8193. Given: 7000 \`inputs\` tokens and 2000 \`max_new_tokens\`
fireworks | inputTooLong | The input is too long. Please reduce the length of the messages
cerebras | inputTooLong | 400 status code (no body)
cerebras | inputTooLong | 413 status code (no body) | {"status":413}
cerebras | inputTooLong | 413 (no body) | {"status":413}
github-copilot | inputTooLong 140000/128000 | prompt token count of 140000 exceeds the limit of 128000
github-copilot | bytesTooLarge | failed to parse request | {"status":413}
llamacpp | inputTooLong | the request exceeds the available context size
llamacpp | inputTooLong 14429/8192 | 500 | {"status":500,"body":{"error":{"code":400,"type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}}
llamacpp | inputTooLong | context size has been exceeded
llama-cpp-python | inputTooLong 5000/4096 | Requested tokens (5000) exceed context window of 4096
ollama | inputTooLong | prompt too long; exceeded max context length by 100918 tokens
ollama | inputTooLong | the input length exceeds the context length
lmstudio | inputTooLong | tokens to keep from the initial prompt is greater than the context length
lmstudio | inputTooLong 111490/32768 | Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens
lmstudio | inputTooLong 15028/7424 | Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)
lmstudio | inputTooLong ?/4096 | Reached context length of 4096 tokens with model qwen, which does not currently support mid-generation context overflow
ds4 | inputTooLong 9000/8192 | Prompt has 9000 tokens, but the configured context size is 8192 tokens
any | inputTooLong | context length exceeded
any | inputTooLong | context_length_exceeded
any | inputTooLong | too many tokens
any | inputTooLong | token limit exceeded
any | bytesTooLarge | request entity too large
any | inputTooLong | tokens in request more than max tokens allowed
any | bytesTooLarge | 413 Payload Too Large | {"status":null}
any | inputTooLong | 输入超过上下文长度
any | rateLimit | rate limit
any | rateLimit | too many requests
any | rateLimit | Throttling error: Too many tokens
any | rateLimit | Service unavailable: too many tokens
any | rateLimit | Limit 30000 tokens per minute: context length exceeded
any | rateLimit | the per-minute allowance has too many tokens
any | rateLimit | prompt is too long: 213462 tokens > 200000 maximum | {"status":429}
any | rateLimit | HTTP 429 | {"status":null}
any | rateLimit | You exceeded your current quota
anthropic | damagedHistory | messages.3: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: toolu_1.
anthropic | damagedHistory | messages.0.content.1: unexpected \`tool_use_id\` found in \`tool_result\` blocks: toolu_1.
anthropic | damagedHistory | each tool_use must have a single result
openai | damagedHistory | An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.
any | damagedHistory | failed to parse tool call arguments as json
mistral | damagedHistory | Not the same number of function calls and responses
anthropic | damagedHistory | messages.1.content.0: Invalid \`signature\` in \`thinking\` block: it is bound to a different conversation
`;

const rows = TABLE.trim()
  .split("\n")
  .map((line): Row => {
    const [provider = "", outcome = "", message = "", fields = "{}"] = line.split(" | ");
    const [kind, input, window] = outcome.split(/[ /]/);
    const numbers = {
      ...(input !== undefined && input !== "?" && { inputTokens: Number(input) }),
      ...(window !== undefined && window !== "?" && { windowTokens: Number(window) }),
    };
    // JSON has no undefined; an error without a status has null here.
    const { status, ...said } = JSON.parse(fields) as Said & { status?: number | null };
    return [
      provider,
      message,
      kind as FailureKind,
      numbers,
      { ...said, ...(status !== undefined && { status: status ?? undefined }) },
    ];
  });

test("classifies the refusals of every provider", () =>
  everyRow(rows)(([provider, message, kind, numbers, said]) => {
    const failure = classified(message, { provider, ...said });
    expect(failure).toMatchObject({ kind, ...numbers, ...(said.code !== undefined && { code: said.code }) });
    if (kind !== "rateLimit") expect(failure.retryable).toBe(false);
  }));

test("law: no error makes it throw, and every outcome is one of the six kinds", () => {
  const kinds = "inputTooLong outputCapTooLarge bytesTooLarge rateLimit damagedHistory other".split(" ");
  const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true, withMap: true });
  const known = fc.constantFrom(...rows.map(([, message]) => message));
  fc.assert(
    fc.property(
      fc.oneof(known, fc.string(), anything),
      fc.option(anything),
      anything,
      anything,
      (message, body, cause, code) => {
        const error = new ProviderError({ kind: "refused", message: "x", body, cause });
        Object.assign(error, { message, code, status: code });
        const failure = classifyFailure({ error, provider: "p", modelId: "m" });
        expect(kinds).toContain(failure.kind);
        expect(typeof failure.message).toBe("string");
      },
    ),
  );
});

test("classifies the errors of other SDKs, also after their retries", () => {
  const message = "prompt is too long: 213462 tokens > 200000 maximum";
  const responseBody = JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } });
  const refused = Object.assign(new Error("Bad Request"), { statusCode: 400, responseBody });
  const retried = Object.assign(new Error("Failed after 3 attempts."), { lastError: refused });
  for (const error of [refused, retried, { type: "error", error: { message } }, message])
    expect(classifyFailure({ error, provider: "anthropic", modelId: "m" })).toMatchObject({
      kind: "inputTooLong",
      inputTokens: 213_462,
    });
  const aborted = new DOMException("This operation was aborted", "AbortError");
  expect(classifyFailure({ error: aborted, provider: "openai", modelId: "m" }).kind).toBe("other");
});
