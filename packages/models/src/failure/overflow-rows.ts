/** What a row makes of a refusal. */
export type RowOutcome =
  /** A rate limit or an overloaded server, whatever else the text speaks of. */
  | "rateLimit"
  | "damagedHistory"
  /** The input alone is too long. */
  | "input"
  /** Input and output cap together are too long: numbers, or what was asked, tell which of the two is to blame. */
  | "inputOrCap"
  /** The output cap is above what the model can write at all. */
  | "cap"
  | "bytes";

/** The numbers that a text can tell. `total` is input and output cap together, or the input alone. */
export type RowNumber = "window" | "input" | "output" | "total" | "outputLimit" | "bytes" | "limitBytes";

/** The words of a refusal, and what they mean. */
interface OverflowRow {
  /** Who says so; for readers and test names. */
  from: string;
  /**
   * Words as a provider writes them, compared without case, quotes and repeated spaces. `{input}` and the other names
   * of RowNumber stand for a number, with or without thousands separators; `…` for up to 200 characters; `^` at the
   * beginning for the beginning of the message.
   */
  words: readonly string[];
  outcome: RowOutcome;
  /** Tried last, and only where the text as a whole names no other cause: "too many tokens" may be said of a header. */
  isVague?: true;
  /** Only from providers whose name matches. */
  provider?: RegExp;
}

/** A row of the table. */
function row(from: string, outcome: RowOutcome, ...words: readonly string[]): OverflowRow {
  return { from, outcome, words };
}

/**
 * In the order in which they are tried: rate limits first, because they speak of tokens too; then what names more
 * numbers before what names fewer.
 */
const overflowRows: readonly OverflowRow[] = [
  row(
    "rate limits",
    "rateLimit",
    "rate limit",
    "rate_limit",
    "rate-limit",
    "ratelimit",
    "too many requests",
    "throttling error:",
    "throttlingexception",
    "too many tokens, please wait",
    "service unavailable:",
    "tokens per minute",
    "tokens per min",
    "per-minute",
    "{quota}",
    "^429",
    "http 429",
  ),
  row(
    "damaged histories",
    "damagedHistory",
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
  ),
  row(
    "Anthropic, input and cap",
    "inputOrCap",
    "input length and max_tokens exceed context limit: {input} + {output} > {window}",
  ),
  row(
    "Anthropic, cap of the model",
    "cap",
    "max_tokens: {output} > {outputLimit}, which is the maximum allowed number of output tokens",
    "maximum allowed number of output tokens",
  ),
  row(
    "OpenAI, cap of the model",
    "cap",
    "max_tokens is too large: {output}. this model supports at most {outputLimit} completion tokens",
  ),
  row(
    "vLLM, input and cap",
    "inputOrCap",
    "is too large: {output}. this models maximum context length is {window} tokens and your request has {input} input tokens",
  ),
  row(
    "Bedrock Mantle, input and cap",
    "inputOrCap",
    "maximum context length is {window} tokens. however, you requested {output} output tokens and your prompt contains at least {input} input tokens",
  ),
  row(
    "DeepSeek, OpenAI Chat and vLLM, input and cap",
    "inputOrCap",
    "maximum context length is {window} tokens. however, you requested {total} tokens ({input} in the messages, {output} in the completion)",
    "maximum context length is {window} tokens. however, you requested {total} tokens (…{output} in the completion)",
  ),
  row(
    "OpenRouter",
    "inputOrCap",
    "maximum context length is {window} tokens. however, you requested about {total} tokens (…{output} in the output)",
    "maximum context length is {window} tokens. however, you requested about {total} tokens",
  ),
  row(
    "TGI and Together",
    "inputOrCap",
    "inputs tokens + max_new_tokens must be <= {window}. given: {input} inputs tokens and {output} max_new_tokens",
    "inputs tokens + max_new_tokens must be <= {window}",
  ),
  row("Kimi and Moonshot", "inputOrCap", "exceeded model token limit: {window} (requested: {total})"),
  row("Kimi, bytes", "bytes", "total message size {bytes} exceeds limit {limitBytes}"),
  row("Anthropic, bytes", "bytes", "request_too_large", "request exceeds the maximum size"),
  { ...row("GitHub Copilot, bytes", "bytes", "^413 failed to parse request"), provider: /copilot/ },
  row(
    "Anthropic and Bedrock",
    "input",
    "prompt is too long: {input} tokens > {window} maximum",
    "prompt is too long",
  ),
  row(
    "OpenAI",
    "input",
    "maximum context length is {window} tokens. however, your messages resulted in {input} tokens",
    "input tokens exceed the configured limit of {window} tokens. your messages resulted in {input} tokens",
    "input tokens exceed the configured limit of {window} tokens",
    "input tokens exceed the configured limit",
    "your input exceeds the context window of this model",
  ),
  row(
    "Azure and LiteLLM",
    "input",
    "exceeds the models maximum context length of {window} tokens",
    "contextwindowexceedederror",
    "context window exceeded for given call",
  ),
  row(
    "Google",
    "input",
    "input token count ({input}) exceeds the maximum number of tokens allowed ({window})",
    "input token count … exceeds the maximum",
  ),
  row("xAI", "input", "maximum prompt length is {window} but the request contains {input} tokens"),
  row(
    "Poolside",
    "input",
    "input length {input} exceeds the maximum allowed input length of {window} tokens",
  ),
  row("vLLM", "input", "maximum model length of {window}", "maximum model length"),
  row(
    "Mistral",
    "input",
    "prompt contains {input} tokens … too large for model with {window} maximum context length",
    "too large for model with {window} maximum context length",
  ),
  row("Bedrock", "input", "input is too long for requested model", "too many total text bytes"),
  row("MiniMax", "input", "context window exceeds limit"),
  row(
    "z.ai and GLM",
    "input",
    "prompt exceeds max length",
    "tokens of your input have exceeded the models maximum context length",
    "model_context_window_exceeded",
  ),
  { ...row("z.ai, code", "input", "code 1261"), provider: /z\.?-?ai|zhipu|bigmodel|glm/ },
  row("Qwen", "input", "range of input length should be [1, {window}]"),
  row(
    "Together and Fireworks",
    "input",
    "the input ({input} tokens) is longer than the models context length ({window} tokens)",
    "the input is too long. please reduce the length of the messages",
  ),
  {
    ...row(
      "Cerebras",
      "input",
      "^400 (no body)",
      "^413 (no body)",
      "^400 status code (no body)",
      "^413 status code (no body)",
    ),
    provider: /cerebras/,
  },
  row("GitHub Copilot", "input", "prompt token count of {input} exceeds the limit of {window}"),
  row(
    "llama.cpp",
    "input",
    "request ({input} tokens) exceeds the available context size ({window} tokens)",
    "exceeds the available context size",
    "exceed_context_size_error",
    "context size has been exceeded",
    "requested tokens ({input}) exceed context window of {window}",
  ),
  row("Ollama", "input", "prompt too long", "the input length exceeds the context length"),
  row(
    "LM Studio",
    "input",
    "tokens to keep from the initial prompt is greater than the context length",
    "trying to keep the first {input} tokens when context the overflows. however, the model is loaded with context length of only {window} tokens",
    "cannot truncate prompt with n_keep ({input}) >= n_ctx ({window})",
    "reached context length of {window} tokens with model",
    "does not currently support mid-generation context overflow",
  ),
  row("DS4", "input", "prompt has {input} tokens, but the configured context size is {window} tokens"),
  // A completion that is too long is the other half of what Groq asks to reduce.
  row("Groq", "inputOrCap", "please reduce the length of the messages or completion"),
  {
    ...row(
      "anybody, input",
      "inputOrCap",
      "context length exceeded",
      "context_length_exceeded",
      "too many tokens",
      "token limit exceeded",
      "tokens in request more than max tokens allowed",
      "上下文长度",
    ),
    isVague: true as const,
  },
  {
    ...row("anybody, bytes", "bytes", "request entity too large", "payload too large", "^413"),
    isVague: true as const,
  },
];

/** A row whose words stand in a text, and the numbers between them. */
interface RowMatch {
  row: OverflowRow;
  numbers: Partial<Record<RowNumber, number>>;
}

/**
 * The first row of the table that speaks of this text; see `errorTexts`.
 * @param vague the rows that hold only where nothing else is named, or the others
 */
export function matchRow(text: string, provider: string, vague: boolean): RowMatch | undefined {
  const plain = plainText(text);
  const name = provider.toLowerCase();
  // Most sessions never see a refusal: the patterns are made when the first one comes.
  compiled ??= overflowRows.map((each) => [each, each.words.map(patternOf)]);
  for (const [row, patterns] of compiled) {
    if ((row.isVague ?? false) !== vague) continue;
    if (row.provider !== undefined && !row.provider.test(name)) continue;
    for (const pattern of patterns) {
      const match = pattern.exec(plain);
      if (match !== null) return { row, numbers: numbersOf(match.groups) };
    }
  }
  return undefined;
}

let compiled: readonly (readonly [OverflowRow, readonly RegExp[]])[] | undefined;

/** Lower case, without quotes, backticks (`tool_use` is written with and without them) and addresses, spaces made one. */
function plainText(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[`'"‘’“”]/g, "")
    .replaceAll(/https?:\/\/\S+/g, "")
    .replaceAll(/\s+/g, " ");
}

const NUMBER = "\\d{1,3}(?:[,._\\u00a0 ]\\d{3})+(?!\\d)|\\d+";

function patternOf(words: string): RegExp {
  const source = words
    .split(/(\{\w+\}|…|^\^)/)
    .map((part) => {
      if (part === "^") return "^\\s*";
      if (part === "…") return ".{0,200}?";
      // A word of its own, so that "quotation" is none; an underscore may stand before it.
      if (part === "{quota}") return "(?<![a-z])quotas?(?![a-z])";
      if (/^\{\w+\}$/.test(part)) return `(?<${part.slice(1, -1)}>${NUMBER})`;
      return plainText(part).replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
    })
    .join("");
  return new RegExp(source);
}

function numbersOf(groups: Record<string, string> | undefined): RowMatch["numbers"] {
  const numbers: RowMatch["numbers"] = {};
  for (const [name, text] of Object.entries(groups ?? {})) {
    const value = Number(text.replaceAll(/\D/g, ""));
    if (Number.isSafeInteger(value)) numbers[name as RowNumber] = value;
  }
  return numbers;
}
