/** The outcome of a refusal whose words the table knows. */
export type RowOutcome =
  /** A rate limit or an overloaded server. */
  | "rateLimit"
  | "damagedHistory"
  | "input"
  /** Input and output cap together are too long. Numbers, or the size of the request, tell which one is to blame. */
  | "inputOrCap"
  /** The output cap is above the model's own limit. */
  | "cap"
  | "bytes";

/** The numbers in a refusal. `total` is the sum of input and output cap, or the input alone. */
export type RowNumbers = Partial<Record<"window" | "input" | "output" | "total" | "outputLimit", number>>;

interface RefusalRow {
  outcome: RowOutcome;
  /**
   * A provider's words, compared without case, quotes, underscores, hyphens and repeated spaces. `{input}` and the other
   * names of RowNumbers match a number, `…` up to 200 characters, and `^` the start of the message.
   */
  words: readonly string[];
  /** Applies only to providers whose name matches. */
  provider?: RegExp;
}

/**
 * Refusals that reading by meaning gets wrong, or whose numbers it misses, in the order of their checks: rate limits
 * come first, because they name tokens too, and words with more numbers come before words with fewer.
 */
const refusalRows: readonly RefusalRow[] = [
  {
    outcome: "rateLimit",
    words: [
      "rate limit",
      "ratelimit",
      "too many requests",
      "throttling error:",
      "throttlingexception",
      "too many tokens, please wait",
      "service unavailable:",
      "tokens per min",
      "per minute",
      "{quota}",
      "^429",
      "http 429",
    ],
  },
  {
    outcome: "damagedHistory",
    words: [
      "tool_use ids were found without tool_result blocks immediately after",
      "unexpected tool_use_id found in tool_result blocks",
      "each tool_use must have a single result",
      "tool_use ids must be unique",
      "must be followed by tool messages responding to each tool_call_id",
      "messages with role tool must be a response to a preceding message with tool_calls",
      "failed to parse tool call arguments as json",
      "invalid signature in thinking block",
      "bound to a different conversation",
      "expected thinking or redacted_thinking, but found",
      "no tool output found for function call",
      "no tool call found for function call output",
      "was provided without its required",
      "not the same number of function calls and responses",
      "reasoning_content is missing",
      "missing reasoning_content",
      "reasoning_content … must be passed back",
      "thinking … must be passed back",
    ],
  },
  {
    outcome: "inputOrCap",
    words: [
      // Anthropic, then vLLM, Bedrock Mantle, DeepSeek, OpenRouter, TGI, Together and Kimi.
      "input length and max_tokens exceed context limit: {input} + {output} > {window}",
      "is too large: {output}. this models maximum context length is {window} tokens and your request has {input} input tokens",
      "maximum context length is {window} tokens. however, you requested {output} output tokens and your prompt contains at least {input} input tokens",
      "maximum context length is {window} tokens. however, you requested {total} tokens (…{output} in the completion)",
      "maximum context length is {window} tokens. however, you requested about {total} tokens (…{output} in the output)",
      "maximum context length is {window} tokens. however, you requested about {total} tokens",
      "inputs tokens + max_new_tokens must be <= {window}. given: {input} inputs tokens and {output} max_new_tokens",
      "inputs tokens + max_new_tokens must be <= {window}",
      "exceeded model token limit: {window} (requested: {total})",
    ],
  },
  {
    outcome: "cap",
    words: [
      // Anthropic and OpenAI.
      "max_tokens: {output} > {outputLimit}, which is the maximum allowed number of output tokens",
      "max_tokens is too large: {output}. this model supports at most {outputLimit} completion tokens",
    ],
  },
  {
    outcome: "bytes",
    words: ["total message size … exceeds limit", "code request_too_large"],
  },
  { outcome: "bytes", words: ["^413 failed to parse request"], provider: /copilot/ },
  {
    outcome: "input",
    words: [
      // vLLM, Bedrock, Qwen and LM Studio.
      "maximum model length of {window}",
      "maximum model length",
      "too many total text bytes",
      "range of input length should be [1, {window}]",
      "reached context length of {window} tokens with model",
    ],
  },
  { outcome: "input", words: ["code 1261"], provider: /z\.?-?ai|zhipu|bigmodel|glm/ },
  // Groq names the completion too.
  { outcome: "inputOrCap", words: ["please reduce the length of the messages or completion"] },
];

/** Returns the outcome of the first row that knows the words of a refusal, and the numbers between its words. */
export function matchRow(
  text: string,
  provider: string,
): { outcome: RowOutcome; numbers: RowNumbers } | undefined {
  const plain = plainText(text);
  // Made at the first refusal: most sessions never see one.
  compiled ??= refusalRows.map((row) => [row, row.words.map(patternOf)]);
  for (const [{ outcome, provider: only }, patterns] of compiled) {
    if (only !== undefined && !only.test(provider.toLowerCase())) continue;
    for (const pattern of patterns) {
      const match = pattern.exec(plain);
      if (match !== null) return { outcome, numbers: numbersOf(match.groups) };
    }
  }
  return undefined;
}

let compiled: readonly (readonly [RefusalRow, readonly RegExp[]])[] | undefined;

/** Removes what providers write in several ways: case, quotes, underscores, hyphens, spaces; and addresses. */
function plainText(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[`'"‘’“”]/g, "")
    .replaceAll(/https?:\/\/\S+/g, "")
    .replaceAll(/[\s_-]+/g, " ");
}

const NUMBER = "\\d{1,3}(?:[,.\\u00a0 ]\\d{3})+(?!\\d)|\\d+";

function patternOf(words: string): RegExp {
  const source = words
    .split(/(\{\w+\}|…|^\^)/)
    .map((part) => {
      if (part === "^") return "^\\s*";
      if (part === "…") return ".{0,200}?";
      // A word of its own: "quotation" does not match.
      if (part === "{quota}") return "(?<![a-z])quotas?(?![a-z])";
      if (/^\{\w+\}$/.test(part)) return `(?<${part.slice(1, -1)}>${NUMBER})`;
      return plainText(part).replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
    })
    .join("");
  return new RegExp(source);
}

function numbersOf(groups: Record<string, string> = {}): RowNumbers {
  const numbers = Object.entries(groups).map(([name, text]) => [name, Number(text.replaceAll(/\D/g, ""))]);
  return Object.fromEntries(numbers.filter(([, value]) => Number.isSafeInteger(value)));
}
