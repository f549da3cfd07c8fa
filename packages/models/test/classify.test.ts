import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classifyFailure } from "../src/failure/classify.ts";
import type { FailureKind, ModelFailure } from "../src/model-request.ts";
import { ProviderError } from "../src/provider.ts";
import { classified, type Said } from "./classified.ts";

type Row = [
  provider: string,
  message: string,
  kind: FailureKind,
  numbers?: Partial<ModelFailure>,
  said?: Said,
];

const rows: Row[] = [
  [
    "anthropic",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "inputTooLong",
    { inputTokens: 213462, windowTokens: 200000 },
  ],
  [
    "anthropic",
    "input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000, decrease input length or `max_tokens` and try again",
    "outputCapTooLarge",
    { inputTokens: 188059, windowTokens: 200000 },
  ],
  [
    "anthropic",
    "input length and `max_tokens` exceed context limit: 208059 + 20000 > 200000, decrease input length or `max_tokens` and try again",
    "inputTooLong",
    { inputTokens: 208059, windowTokens: 200000 },
  ],
  ["anthropic", "request_too_large", "bytesTooLarge", {}, { status: 413 }],
  ["anthropic", "Request exceeds the maximum size", "bytesTooLarge", {}, { status: 413 }],
  ["anthropic", "model_context_window_exceeded", "inputTooLong"],
  ["anthropic", "prompt is too long: 3 tokens > 2 maximum", "inputTooLong"],
  [
    "openai",
    "Bad request",
    "inputTooLong",
    { code: "context_length_exceeded" },
    { code: "context_length_exceeded" },
  ],
  ["openai", "Your input exceeds the context window of this model", "inputTooLong"],
  [
    "openai",
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130557 tokens. Please reduce the length of the messages.",
    "inputTooLong",
    { windowTokens: 128000, inputTokens: 130557 },
  ],
  ["openai", "Input tokens exceed the configured limit", "inputTooLong"],
  [
    "openai",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens.",
    "inputTooLong",
    { windowTokens: 272000, inputTokens: 300123 },
  ],
  ["azure", "ContextWindowExceededError", "inputTooLong"],
  ["azure", "Context Window exceeded for given call", "inputTooLong"],
  [
    "litellm",
    "litellm.MidStreamFallbackError: litellm.ServiceUnavailableError: the prompt exceeds the model's maximum context length of 131072 tokens",
    "inputTooLong",
    { windowTokens: 131072 },
    { status: 503 },
  ],
  [
    "google",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
    "inputTooLong",
    { inputTokens: 1196265, windowTokens: 1048575 },
    { code: "INVALID_ARGUMENT" },
  ],
  [
    "xai",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    "inputTooLong",
    { windowTokens: 131072, inputTokens: 537812 },
  ],
  ["groq", "Please reduce the length of the messages or completion", "inputTooLong"],
  [
    "any",
    "The request exceeds the model's maximum context length of 8192 tokens. Please reduce the length of the messages or completion.",
    "inputTooLong",
    { windowTokens: 8192 },
  ],
  [
    "openrouter",
    'This endpoint\'s maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one, or use the "middle-out" transform',
    "inputTooLong",
    { windowTokens: 32768, inputTokens: 42832 },
  ],
  [
    "openrouter",
    'This endpoint\'s maximum context length is 128000 tokens. However, you requested about 145000 tokens (17000 of text input, 128000 in the output). Please reduce the length of either one, or use the "middle-out" transform',
    "outputCapTooLarge",
    { windowTokens: 128000, inputTokens: 17000 },
  ],
  [
    "poolside",
    "Input length 140000 exceeds the maximum allowed input length of 131072 tokens.",
    "inputTooLong",
    { inputTokens: 140000, windowTokens: 131072 },
  ],
  [
    "deepseek",
    "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
    "outputCapTooLarge",
    { windowTokens: 131072, inputTokens: 122942 },
    { code: "invalid_request_error" },
  ],
  [
    "deepseek",
    "This model's maximum context length is 131072 tokens. However, you requested 141134 tokens (132942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
    "inputTooLong",
    { windowTokens: 131072, inputTokens: 132942 },
  ],
  [
    "openai",
    "This model's maximum context length is 8192 tokens. However, you requested 8500 tokens (6000 in the messages, 500 in the functions, and 2000 in the completion).",
    "outputCapTooLarge",
    { windowTokens: 8192, inputTokens: 6500 },
  ],
  [
    "vllm",
    "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 4096 tokens and your request has 2778 input tokens",
    "outputCapTooLarge",
    { windowTokens: 4096, inputTokens: 2778 },
  ],
  [
    "vllm",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "inputTooLong",
    { windowTokens: 4096 },
  ],
  ["vllm", "maximum model length is", "inputTooLong"],
  [
    "mistral",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "inputTooLong",
    { inputTokens: 40000, windowTokens: 32768 },
  ],
  ["amazon-bedrock", "ValidationException: Input is too long for requested model", "inputTooLong"],
  ["amazon-bedrock", "too many total text bytes", "inputTooLong"],
  [
    "amazon-bedrock",
    "prompt is too long: 903884 tokens > 200000 maximum",
    "inputTooLong",
    { inputTokens: 903884 },
  ],
  [
    "amazon-bedrock",
    "This model's maximum context length is 202752 tokens. However, you requested 65536 output tokens and your prompt contains at least 137217 input tokens, for a total of at least 202753 tokens.",
    "outputCapTooLarge",
    { windowTokens: 202752, inputTokens: 137217 },
  ],
  ["amazon-bedrock", "ThrottlingException: Too many tokens, please wait before trying again.", "rateLimit"],
  [
    "moonshot",
    "Your request exceeded model token limit: 262144 (requested: 300000)",
    "inputTooLong",
    { windowTokens: 262144, inputTokens: 300000 },
  ],
  ["moonshot", "total message size 2306631 exceeds limit 2097152", "bytesTooLarge", {}],
  ["minimax", "invalid params, context window exceeds limit", "inputTooLong"],
  ["zai", "1261", "inputTooLong", {}, { code: "1261" }],
  ["zai", "Prompt too long", "inputTooLong", {}, { code: "1261" }],
  ["zai", "Prompt exceeds max length", "inputTooLong"],
  [
    "zai",
    "The tokens of your input have exceeded the model's maximum context length",
    "inputTooLong",
    {},
    { code: "1214" },
  ],
  ["dashscope", "Range of input length should be [1, 129024]", "inputTooLong", { windowTokens: 129024 }],
  [
    "together",
    "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
    "inputTooLong",
    { inputTokens: 516368, windowTokens: 262144 },
  ],
  [
    "together",
    "Input validation error: inputs tokens + max_new_tokens must be <= 8193",
    "inputTooLong",
    { windowTokens: 8193 },
  ],
  [
    "together",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 7000 `inputs` tokens and 2000 `max_new_tokens`",
    "outputCapTooLarge",
    { windowTokens: 8193, inputTokens: 7000 },
  ],
  ["fireworks", "The input is too long. Please reduce the length of the messages", "inputTooLong"],
  ["cerebras", "400 status code (no body)", "inputTooLong"],
  ["cerebras", "413 status code (no body)", "inputTooLong", {}, { status: 413 }],
  ["cerebras", "413 (no body)", "inputTooLong", {}, { status: 413 }],
  [
    "github-copilot",
    "prompt token count of 140000 exceeds the limit of 128000",
    "inputTooLong",
    { inputTokens: 140000, windowTokens: 128000 },
  ],
  ["github-copilot", "failed to parse request", "bytesTooLarge", {}, { status: 413 }],
  ["llamacpp", "the request exceeds the available context size", "inputTooLong"],
  [
    "llamacpp",
    "500",
    "inputTooLong",
    { inputTokens: 14429, windowTokens: 8192 },
    {
      status: 500,
      body: { error: { code: 400, type: "exceed_context_size_error", n_prompt_tokens: 14429, n_ctx: 8192 } },
    },
  ],
  ["llamacpp", "context size has been exceeded", "inputTooLong"],
  [
    "llama-cpp-python",
    "Requested tokens (5000) exceed context window of 4096",
    "inputTooLong",
    { inputTokens: 5000, windowTokens: 4096 },
  ],
  ["ollama", "prompt too long; exceeded max context length by 100918 tokens", "inputTooLong"],
  ["ollama", "the input length exceeds the context length", "inputTooLong"],
  ["lmstudio", "tokens to keep from the initial prompt is greater than the context length", "inputTooLong"],
  [
    "lmstudio",
    "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens",
    "inputTooLong",
    { inputTokens: 111490, windowTokens: 32768 },
  ],
  [
    "lmstudio",
    "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)",
    "inputTooLong",
    { inputTokens: 15028, windowTokens: 7424 },
  ],
  [
    "lmstudio",
    "Reached context length of 4096 tokens with model qwen, which does not currently support mid-generation context overflow",
    "inputTooLong",
    { windowTokens: 4096 },
  ],
  [
    "ds4",
    "Prompt has 9000 tokens, but the configured context size is 8192 tokens",
    "inputTooLong",
    { inputTokens: 9000, windowTokens: 8192 },
  ],
  ["any", "context length exceeded", "inputTooLong"],
  ["any", "context_length_exceeded", "inputTooLong"],
  ["any", "too many tokens", "inputTooLong"],
  ["any", "token limit exceeded", "inputTooLong"],
  ["any", "request entity too large", "bytesTooLarge"],
  ["any", "tokens in request more than max tokens allowed", "inputTooLong"],
  ["any", "413 Payload Too Large", "bytesTooLarge", {}, { status: undefined }],
  ["any", "输入超过上下文长度", "inputTooLong"],
  ["any", "rate limit", "rateLimit"],
  ["any", "too many requests", "rateLimit"],
  ["any", "Throttling error: Too many tokens", "rateLimit"],
  ["any", "Service unavailable: too many tokens", "rateLimit"],
  ["any", "Limit 30000 tokens per minute: context length exceeded", "rateLimit"],
  ["any", "the per-minute allowance has too many tokens", "rateLimit"],
  ["any", "prompt is too long: 213462 tokens > 200000 maximum", "rateLimit", {}, { status: 429 }],
  ["any", "HTTP 429", "rateLimit", {}, { status: undefined }],
  ["any", "You exceeded your current quota", "rateLimit"],
  [
    "anthropic",
    "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
    "damagedHistory",
  ],
  [
    "anthropic",
    "messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
    "damagedHistory",
  ],
  ["anthropic", "each tool_use must have a single result", "damagedHistory"],
  [
    "openai",
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    "damagedHistory",
  ],
  ["any", "failed to parse tool call arguments as json", "damagedHistory"],
  ["mistral", "Not the same number of function calls and responses", "damagedHistory"],
  [
    "anthropic",
    "messages.1.content.0: Invalid `signature` in `thinking` block: it is bound to a different conversation",
    "damagedHistory",
  ],
];

describe("every row of the overflow table", () => {
  test("classifies the refusals of every provider", () =>
    everyRow(rows)(([provider, message, kind, numbers = {}, said = {}]) => {
      const failure = classified(message, { provider, ...said });
      expect(failure).toMatchObject({ kind, ...numbers });
      if (kind !== "rateLimit") expect(failure.retryable).toBe(false);
    }));
});

test("no error makes it throw, and every outcome is one of the six kinds", () => {
  const kinds = new Set([
    "inputTooLong",
    "outputCapTooLarge",
    "bytesTooLarge",
    "rateLimit",
    "damagedHistory",
    "other",
  ]);
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
        expect(kinds.has(failure.kind)).toBe(true);
        expect(typeof failure.message).toBe("string");
      },
    ),
  );
});
