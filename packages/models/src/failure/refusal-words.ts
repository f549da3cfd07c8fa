/**
 * Words and phrases of up to three words. The ablation in `bench/overflow-wordings.bench.ts` decides about concepts and
 * languages. An ending does not count (`exceeds`, `exceeded`). An identifier such as `context_length_exceeded` is
 * three words.
 */
const VOCABULARY = {
  /** The model's context window. */
  context: "context, window, out of context, context length error",
  input: "prompt, input, message, conversation, chat, history, sequence, seq, text",
  /** The whole request. Its tokens or its bytes may be too many. */
  request: "request",
  tokens: "token, input ids",
  length: "length, size, characters",
  /** The limit of the answer, `max_tokens` by any name. */
  cap:
    "outputcap, num predict, n predict, output, completion, generate, generation, maximum tokens you, reply, " +
    "answer",
  over:
    "exceed, surpass, overflow, over, above, beyond, too long, too large, too big, too much, overlong, oversized, " +
    "longer than, larger than, greater than, bigger than, higher than, more than, more tokens than, not hold, " +
    "cannot hold, shorter, shorten, reduce the length",
  /** "Too many" names a counted thing, not a length. */
  tooMany: "too many, too frequent",
  /** A limit was met: reached, full, exhausted. */
  reached:
    "reached, out of context, context length error, hit, full, exhausted, run out, not enough, no room, outof",
  limit:
    "maximum, max, limit, allow, support, accept, at most, up to, no more than, less than, shorter than, " +
    "smaller than, only, between, range, bound",
  /** The size of a request in bytes. */
  bytes: "byte, kb, mb, gb, kib, mib, megabytes, body, payload, entity",
  /** Images and files have limits of their own in bytes, pixels and pages. */
  media: "image, document, file, attachment, pdf, audio, video",
  /** A parameter or a field with a limit of its own. */
  field:
    "name, title, description, field, string, schema, id, ids, url, stop, temperature, top logprobs, logit bias, " +
    "penalty, seed, cache control, cache key, batch, number of tools, number of functions, number of messages, " +
    "number of items, too many tools, too many messages, dimensions, pages, grammar, effort, retries, " +
    "steps, recursion, role, keys, value, thinking, reasoning tokens",
  /** Requests or tokens in a stretch of time. */
  rate:
    "rate, throttle, tpm, tpd, concurrency, concurrent, quota, hourly, per day, per hour, per minute, per min, " +
    "per second, hour, usage limit, request limit, number of requests, message limit, message cap, traffic, queue, too frequent",
  /** Keys, payment and rules: who may ask, and about what. */
  account:
    "access token, session token, csrf, issued, expired, billing, credits, balance, subscription, upgrade, spend, per month, " +
    "this month, trial, free tier, plan, recharge, token budget, funds, policy, flagged, filter, safety, sensitive, " +
    "prohibited",
  /** Deadlines and syntax. */
  process:
    "deadline, time out, timed out, timeout, time limit, took, lifetime, seconds, minute, json, malformed",
  /** Any other named cause. */
  cause:
    "unsupported, not supported, unknown, unrecognized, missing, requires, not found, not allowed, not available, " +
    "expected, must, not enabled, empty, functions, tool call",
};

/** A subject or a relation that a refusal speaks of. */
export type Concept = keyof typeof VOCABULARY;

/** Chinese, Japanese and Korean have no spaces between words: their parts of a sentence become English words. */
const UNSPACED: readonly [RegExp, string][] = [
  [/上下文|コンテキスト|컨텍스트|문맥/g, " context "],
  [/请求体|消息体|リクエスト本文/g, " body "],
  [/提示词|提示|输入|消息|对话|内容|プロンプト|入力|会話|メッセージ|입력|프롬프트|대화|메시지/g, " input "],
  [/请求|リクエスト|요청/g, " request "],
  [/令牌|トークン|토큰/g, " tokens "],
  [/超长|过长|太长|过大|太大|過長|長すぎ|大きすぎ|너무 길|너무 깁|너무 긴/g, " too long "],
  [/过多|太多|多すぎ|너무 많/g, " too many "],
  [
    /超过|超出|超限|超え|超過|超|过高|초과|収まり|収まら|入りきら|넘|无法放入|放不下|装不下|들어가지 (?:않|못)/g,
    " exceeds ",
  ],
  [/最大|上限|限制|最长|至多|최대|제한|한도|まで/g, " maximum "],
  [/长度|長度|長さ|길이/g, " length "],
  [/速率|频率|每分钟|每秒|每天|并发|限流|频繁|レート/g, " rate "],
  [/额度|余额|配额|欠费|クォータ/g, " quota "],
  [/文件|图片|图像|工具|函数|音频|视频|ファイル|画像/g, " file "],
  [/名称|名字|标题|描述|参数|字段|大小/g, " field "],
];

/** Spellings of the field `max_tokens`. "max tokens" in two words is any limit. */
const CAP_NAME = /max[_-]?(?:completion|output|new|gen|generation)?[_-]?tokens(?![a-z])/g;

/** A number and the words around it, the nearest first. */
export interface NumberToken {
  value: number;
  before: readonly string[];
  after: readonly string[];
}

/** A sentence or a whole message. */
export interface Statement {
  words: readonly string[];
  concepts: ReadonlySet<Concept>;
  /** "a > b" or "a / b" after these words. */
  isComparison: boolean;
  /** A negative cap: the server computed that no room is left. */
  hasNegative: boolean;
  /** A place inside the request: `messages[2].name`. */
  hasPath: boolean;
  numbers: readonly NumberToken[];
}

const FITS = /^fit(?:s|ted|ting)?$/;
const DENIES = /^(?:not|no|never|cannot|\p{L}+nt|unable|impossible|fail|fails|failed|stopped)$/u;
/** Distance in words between a denial and "fit": "not going to fit", "fits no". */
const MAX_WORDS_BEFORE_FIT = 4;
const MAX_WORDS_AFTER_FIT = 2;

/** A smaller number does not count tokens. */
export const MIN_TOKENS = 256;
const MAX_PHRASE_WORDS = 3;
const ENDING = /(?<=\p{L}{4})(?:ing|(?<!e)ed|es|e|(?<!s)s)$/u;

/** Splits a text into sentences. Runs in linear time: a server may send a megabyte. */
export function statementsOf(text: string): Statement[] {
  return normalised(text)
    .split(/[.;!?](?=\s|$)|\n/)
    .filter((sentence) => sentence.trim() !== "")
    .map(statementOf);
}

function normalised(text: string): string {
  let plain = text
    .normalize("NFKC")
    .replaceAll(/[`'"‘’“”]/g, "")
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase();
  for (const [pattern, word] of UNSPACED) plain = plain.replaceAll(pattern, word);
  return plain
    .replaceAll("。", ". ")
    .replaceAll(/https?:\/\/\S+|\b(?:request|trace|log|event)[ _-]?id\W{1,3}\S+/g, " ")
    .replaceAll(/\/(?=(?:s|sec|min|h|hour|day)(?![a-z]))/g, " per ")
    .replaceAll("#", " ");
}

const PATH = /[a-z_](?:\[\d+\]|\.\d+)/;
const TOKEN =
  /(\d{1,3}(?:[,_. ]\d{3})+(?!\d)|\d+(?:\.\d+)?)(?:\s?(k)(?![a-z]))?|[\p{L}_][\p{L}\p{N}_]*(?:[.-]\p{N}[\w.-]*)?|[<>/≤≥]=?/gu;

function statementOf(sentence: string): Statement {
  const words: string[] = [];
  const found: { value: number; at: number }[] = [];
  for (const [token, digits, thousands] of sentence.replaceAll(CAP_NAME, " outputcap ").matchAll(TOKEN)) {
    if (digits !== undefined) {
      const value = numberOf(digits) * (thousands ? 1_000 : 1);
      found.push({ value, at: words.length });
      words.push(value < MIN_TOKENS ? "#few" : "#");
      // A name with digits belongs to a model or a request. Its parts mean nothing.
    } else if (/\p{N}/u.test(token)) words.push("#name");
    else words.push(...token.split("_").filter((word) => word !== ""));
  }
  return {
    words,
    concepts: conceptsOf(words),
    isComparison: words.some((word, at) => /^[>/]/.test(word) && isCompared(words, at)),
    hasNegative: /(?<![\w\])])-\d/.test(sentence),
    hasPath: PATH.test(sentence),
    numbers: found.map(({ value, at }) => ({
      value,
      before: words.slice(Math.max(0, at - 6), at).reverse(),
      after: words.slice(at + 1, at + 6),
    })),
  };
}

function isCompared(words: readonly string[], at: number): boolean {
  return words.slice(Math.max(0, at - 4), at).includes("#") && words.slice(at + 1, at + 5).includes("#");
}

function numberOf(digits: string): number {
  const isGrouped = /^\d{1,3}(?:[,_. ]\d{3})+$/.test(digits);
  return Number(isGrouped ? digits.replaceAll(/\D/g, "") : digits);
}

/** The longest phrase counts: "no more than" is a limit, "more than" exceeds one. */
function conceptsOf(words: readonly string[]): Set<Concept> {
  const concepts = new Set<Concept>();
  const stems = words.map(stemOf);
  for (let at = 0; at < stems.length; ) {
    const { count, found } = phraseAt(stems, at);
    const isNone = found.has("over") && (isMinimum(words, at) || isFew(words, at, count));
    if (!isNone) for (const concept of found) concepts.add(concept);
    at += count;
  }
  if (isUnfit(words, concepts)) concepts.add("over");
  return concepts;
}

/** Names, formats and permissions have something else to fit. */
function isUnfit(words: readonly string[], concepts: ReadonlySet<Concept>): boolean {
  if (concepts.has("field") || concepts.has("account") || concepts.has("process")) return false;
  const around = (at: number) =>
    words.slice(Math.max(0, at - MAX_WORDS_BEFORE_FIT), at + 1 + MAX_WORDS_AFTER_FIT);
  return words.some((word, at) => FITS.test(word) && around(at).some((near) => DENIES.test(near)));
}

let phrases: Map<string, Set<Concept>> | undefined;

/** The vocabulary by phrase. Made at the first refusal: most sessions never see one. */
export function conceptsByPhrase(): Map<string, Set<Concept>> {
  if (phrases !== undefined) return phrases;
  phrases = new Map();
  for (const [concept, words] of Object.entries(VOCABULARY) as [Concept, string][])
    for (const phrase of words.split(", ")) {
      const stems = phrase.split(" ").map(stemOf).join(" ");
      phrases.set(stems, (phrases.get(stems) ?? new Set()).add(concept));
    }
  return phrases;
}

function stemOf(word: string): string {
  return word.replace(ENDING, "");
}

function phraseAt(stems: readonly string[], at: number): { count: number; found: ReadonlySet<Concept> } {
  for (let count = Math.min(MAX_PHRASE_WORDS, stems.length - at); count > 0; count -= 1) {
    const found = conceptsByPhrase().get(stems.slice(at, at + count).join(" "));
    if (found !== undefined) return { count, found };
  }
  return { count: 1, found: new Set() };
}

/** "More than 10 keys": so small a number does not count tokens. "Too long: 3 tokens" exceeds a limit all the same. */
function isFew(words: readonly string[], at: number, count: number): boolean {
  const [number = "", unit = ""] = words.slice(at + count, at + count + 2);
  return words[at] !== "too" && /^(?:#few|one|two)$/.test(number) && !/^[kmg]i?b|^bytes/.test(unit);
}

/** "Must be greater than" names a minimum. */
function isMinimum(words: readonly string[], at: number): boolean {
  const before = words.slice(Math.max(0, at - 3), at).join(" ");
  return words[at + 1] === "than" && /\b(?:must|should)\b/.test(before) && !/\bnot?\b/.test(before);
}
