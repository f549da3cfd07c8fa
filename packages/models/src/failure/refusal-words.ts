/** What a word of a refusal stands for. */
export type Concept =
  /** The model's context window. */
  | "context"
  /** What is sent: prompt, messages, conversation. */
  | "input"
  /** The whole of what is sent, of which nobody says whether its tokens or its bytes are counted. */
  | "request"
  | "tokens"
  | "length"
  /** The answer's own limit, `max_tokens` by whatever name. */
  | "cap"
  /** More than there may be. */
  | "over"
  /** "Too many": says what is counted, not how long it is. */
  | "tooMany"
  /** A bound was met: reached, full, exhausted. */
  | "reached"
  | "limit"
  /** Too little, not too much. */
  | "least"
  /** What the bytes of a request are called. */
  | "bytes"
  /** What has bounds of its own in bytes, pixels and pages; in tokens it is a part of the context. */
  | "media"
  /** A parameter or a field with limits of its own. */
  | "field"
  | "rate"
  | "billing"
  | "time"
  /** A stretch of time: so many tokens in one are a rate. */
  | "duration"
  | "access"
  | "policy"
  | "syntax"
  /** Anything else that names a cause. */
  | "cause";

/**
 * One word, or two or three that belong together; what stands under the same concept is exchangeable. Identifiers are
 * taken apart first: `ContextLengthExceeded` and `context_length_exceeded` are three words.
 */
const VOCABULARY: Record<Concept, string> = {
  context:
    "context, contexts, out of context, context length error, context size error, " +
    "context window error, ctx, window, max model len, position embeddings, kontext, kontextlänge, " +
    "kontextfenster, contexte, contexto, contesto, контекст, контекста, контекстного",
  input:
    "prompt, prompts, input, inputs, message, messages, conversation, chat, history, sequence, " +
    "sequences, seq, text, eingabe, unterhaltung, nachricht, entrée, invite, entrada, conversación, " +
    "conversa, mensaje, mensajes, mensagem, texto, запрос, сообщение, сообщения, промпт",
  request: "request",
  tokens: "token, tokens, input ids, tok, jetons, fichas, токен, токенов, токены",
  length: "length, len, size, lengths, characters, chars, longueur, länge, longitud, tamaño",
  cap:
    "outputcap, num predict, n predict, output, outputs, completion, completions, generate, " +
    "generated, generates, generation, maximum tokens you, maximum tokens value, reply, answer",
  over:
    "exceed, exceeds, exceeded, exceeding, surpass, surpasses, surpassed, surpassing, overflow, " +
    "overflows, overflowed, overflowing, oversized, over, above, beyond, outgrown, outgrows, " +
    "too long, too large, too big, too much, too lengthy, too high, overlong, longer than, " +
    "larger than, greater than, bigger than, higher than, more than, more tokens than, not hold, cannot hold, cannot handle, grown beyond, " +
    "überschreitet, überschritten, übersteigt, zu lang, zu groß, dépasse, dépassée, dépassé, " +
    "trop long, trop longue, supera, superado, excede, excedido, excedió, demasiado largo, " +
    "demasiado larga, muito longo, muito longa, troppo lungo, troppo lunga, превышает, превышен, " +
    "превышена, превышено, слишком длинный, слишком длинное, слишком большой, shorter, shorten, " +
    "reduce the length, reduce your prompt, reduce the prompt, reduce your input, reduce the input",
  tooMany: "too many, too frequent, slow down, zu viele, trop de, demasiados",
  reached:
    "reached, out of context, context length error, context size error, context window error, hit, " +
    "full, at capacity, too little, voll, plein, pleine, lleno, llena, pieno, cheio, переполнен, exhausted, run out, ran out, not enough, no room, insufficient, used up, no space, " +
    "out of range, outof",
  limit:
    "maximum, max, limit, limits, limited, allowed, allowable, allows, permitted, permits, supports, " +
    "supported, accepts, accepted, handle, handles, takes, at most, up to, no more than, less than, " +
    "fewer than, shorter than, smaller than, or fewer, or less, only, must be under, capacity, " +
    "between, range, bound, maximal, höchstens, maximale, maximum de, máximo, máxima, límite, " +
    "limite, максимальную, максимум, лимит, available",
  least: "minimum, min, at least, too small, too short",
  bytes: "byte, bytes, kb, mb, gb, kib, mib, megabytes, kilobytes, body, payload, entity",
  media:
    "image, images, attachment, attachments, document, documents, file, files, pdf, audio, video, " +
    "picture, pictures",
  field:
    "name, names, title, description, descriptions, metadata, field, fields, string, array, " +
    "property, properties, schema, id, ids, identifier, url, uri, header, headers, stop, " +
    "temperature, top p, top k, top logprobs, logit bias, penalty, seed, cache control, cache key, " +
    "batch, parts, number of tools, number of functions, number of messages, number of images, " +
    "number of items, too many tools, too many messages, too many images, tool count, message count, " +
    "pixel, pixels, dimension, dimensions, page, pages, depth, nesting, grammar, states, level, " +
    "budget tokens, effort, session, sessions, retries, steps, calls, recursion, role, roles, keys, " +
    "value, thinking, reasoning tokens, reasoning budget, character limit, choices",
  rate:
    "rate, throttling, throttled, throttle, tpm, rpm, tpd, concurrency, concurrent, quota, quotas, " +
    "daily, hourly, per day, per hour, per minute, usage limit, usage limits, request limit, " +
    "request limits, number of requests, message limit, message limits, message cap, per min, " +
    "per second, per sec, a minute, tokens min, last minute, slow down, traffic, queue, queued, " +
    "too frequent, cooldown",
  billing:
    "billing, credit, credits, balance, payment, subscription, upgrade, spending, spend, afford, " +
    "monthly, per month, this month, trial, free tier, account, allowance, paid, purchase, plan, " +
    "recharge, token budget, funds",
  time:
    "deadline, timeout, timeouts, timed out, time out, time limit, took, lifetime, age, cancelled, " +
    "canceled",
  duration: "seconds, minute, minutes, hour, hours, day, days, week, weekly",
  access:
    "authentication, authorization, auth, jwt, bearer, credential, credentials, api key, api keys, " +
    "access token, csrf, issued, session token, refresh token, expired, permission, forbidden",
  policy:
    "policy, policies, flagged, filtered, filter, safety, severity, violates, violating, violation, " +
    "moderation, harmful, blocked, sensitive, prohibited",
  syntax:
    "parse, parsing, json, malformed, unexpected, syntax, deserialize, alternate, alternating, " +
    "memory, signature",
  cause:
    "unsupported, not supported, not accepted, unknown, unrecognized, unrecognised, missing, " +
    "required, requires, not found, not exist, not allowed, not available, disabled, deprecated, " +
    "expected, must, should, unavailable, not permitted, not enabled, duplicate, empty, overloaded, " +
    "model not, integer, boolean, does not exist, no such, tool, tools, function, functions, " +
    "tool result, tool results, tool use, tool calls, tool call",
};

/** Languages without spaces between words, and what the parts of their sentences stand for. */
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

/** `max_tokens` in each of its spellings; "max tokens" in two words is any limit. */
const CAP_NAME = /max[_-]?(?:completion|output|new|gen|generation)?[_-]?tokens(?![a-z])/g;

export interface NumberToken {
  value: number;
  /** The words in front of it and behind it, nearest first. */
  before: readonly string[];
  after: readonly string[];
}

/** A sentence, or a whole message, in concepts. */
export interface Statement {
  words: readonly string[];
  concepts: ReadonlySet<Concept>;
  /** Behind which words "a > b" or "a / b" stands. */
  isComparison: boolean;
  /** A cap below nothing: what a server computes that has nothing left. */
  hasNegative: boolean;
  /** `messages[2].name`: a place inside the request. */
  hasPath: boolean;
  numbers: readonly NumberToken[];
}

/** Words for fitting. With a denial they say "too large": "no longer fits", "passt nicht mehr", "ne tient plus". */
const FITS =
  /^(?:fit|fits|fitted|fitting|passt|passen|passte|fassen|tient|tiennent|contenir|cabe|caben|cabem|contener|conter|entra|entrano|contenere|помещается|помещаются|умещается|влезает|вместить)$/;
const DENIES =
  /^(?:not|no|never|cannot|\p{L}+nt|unable|impossible|fail|fails|failed|stopped|nicht|kein|keine|ne|non|não|nao|не)$/u;
/** "not going to fit", "no longer fits", "passt nicht": a denial stands this near. */
const DENIAL_BEFORE = 4;
const DENIAL_AFTER = 2;

/** Smaller is the number of something else. */
export const MIN_TOKENS = 256;
const MAX_WORDS = 3;
/** The sentences of a text. Each step is one pass: a megabyte of anything takes as long as its length says. */
export function statementsOf(text: string): Statement[] {
  return normalised(text)
    .split(/[.;!?](?=\s|$)|\n/)
    .filter((sentence) => sentence.trim() !== "")
    .map(statementOf);
}

function normalised(text: string): string {
  let plain = text
    .normalize("NFKC")
    .replaceAll(/\b([cdjlmnst]|qu)['’](?=\p{L})/giu, "$1 ")
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
      // A name with digits in it is a model's or a request's: what it is made of says nothing.
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

/** Of phrases that begin with the same word the longest counts: "no more than" is a limit, "more than" an excess. */
function conceptsOf(words: readonly string[]): Set<Concept> {
  const concepts = new Set<Concept>();
  for (let at = 0; at < words.length; ) {
    const { count, found } = phraseAt(words, at);
    const isNone = found.includes("over") && (isLeast(words, at) || isFew(words, at + count));
    if (!isNone) for (const concept of found) concepts.add(concept);
    at += count;
  }
  if (isUnfit(words, concepts)) concepts.add("over");
  return concepts;
}

/** Names, formats and permissions have something else to fit. */
function isUnfit(words: readonly string[], concepts: ReadonlySet<Concept>): boolean {
  if (["field", "syntax", "access"].some((concept) => concepts.has(concept as Concept))) return false;
  const isSized = concepts.has("context") || concepts.has("tokens");
  // "Passt nicht zu" says that two things do not suit each other.
  return words.some((word, at) => FITS.test(word) && (isSized || /^fit/.test(word)) && isDenied(words, at));
}

function isDenied(words: readonly string[], at: number): boolean {
  return words
    .slice(Math.max(0, at - DENIAL_BEFORE), at + 1 + DENIAL_AFTER)
    .some((word) => DENIES.test(word));
}

let phrases: ReadonlyMap<string, readonly Concept[]> | undefined;

/** Most sessions never see a refusal: the words are taken apart when the first one comes. */
function conceptsByPhrase(): ReadonlyMap<string, readonly Concept[]> {
  if (phrases !== undefined) return phrases;
  const made = new Map<string, Concept[]>();
  for (const [concept, words] of Object.entries(VOCABULARY) as [Concept, string][])
    for (const phrase of words.split(", ")) made.set(phrase, [...(made.get(phrase) ?? []), concept]);
  phrases = made;
  return made;
}

function phraseAt(words: readonly string[], at: number): { count: number; found: readonly Concept[] } {
  for (let count = MAX_WORDS; count > 0; count -= 1) {
    const found = conceptsByPhrase().get(words.slice(at, at + count).join(" "));
    if (found !== undefined && at + count <= words.length) return { count, found };
  }
  return { count: 1, found: [] };
}

/** "More than 10 keys": so few are no tokens. */
function isFew(words: readonly string[], at: number): boolean {
  return /^(?:#few|one|two)$/.test(words[at] ?? "") && !/^[kmg]i?b|^bytes/.test(words[at + 1] ?? "");
}

/** "Must be greater than" names the least, not the most. */
function isLeast(words: readonly string[], at: number): boolean {
  return (
    words[at + 1] === "than" &&
    words.slice(Math.max(0, at - 3), at).some((word) => /^(?:must|should)$/.test(word)) &&
    !words.slice(Math.max(0, at - 3), at).some((word) => /^(?:not|no)$/.test(word))
  );
}
