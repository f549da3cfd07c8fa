import { BonsaiError, redactSecrets, shortened, textHead } from "@bonsai-agent/messages";
import { type CatalogueModel, definedFields, isLoopback, shownAddress } from "../model.ts";
import type { FailureKind, ModelFailure, RequestSize } from "../model-request.ts";
import { ProviderError } from "../provider.ts";
import { sentence } from "./answer-end.ts";
import { type ErrorTexts, errorTexts } from "./error-texts.ts";
import { isPassing, judgeRefusal, type Reading } from "./refusal-judge.ts";
import { matchRow } from "./refusal-rows.ts";

interface RequestFailureOptions extends Omit<ClassifyOptions, "error" | "provider" | "modelId"> {
  error: unknown;
  model: CatalogueModel;
}

/** Turns any thrown value into the failure of a request. Never throws. */
export function requestFailure(options: RequestFailureOptions): ModelFailure {
  const { error, model, ...others } = options;
  const { provider, id: modelId } = model;
  if (BonsaiError.is(error)) {
    const { message, hint, code } = error;
    return { kind: "other", message: `${message} ${hint}`.trim(), provider, modelId, code, retryable: false };
  }
  const failure = classifyFailure({ error, provider, modelId, ...others });
  const isUnreachable =
    failure.status === undefined && /\bECONNREFUSED\b/.test(errorTexts(providerError(error)).all);
  return isUnreachable ? { ...failure, message: unreachableMessage(model) } : failure;
}

/** An extension's provider may throw anything, such as an error of an SDK. */
function providerError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  const {
    message,
    status,
    statusCode,
    error: inner,
    body,
    responseBody,
    data,
    cause,
    lastError,
  } = readable(error);
  // The AI SDK throws the last error of its retries inside of another.
  if (lastError !== undefined) return providerError(lastError);
  const code = status ?? statusCode;
  const text = message || error;
  return new ProviderError({
    kind: "refused",
    message:
      typeof text === "string" && text !== "" ? text : "The provider threw an error without a message.",
    status: typeof code === "number" ? code : undefined,
    body: inner ?? body ?? responseBody ?? data,
    cause,
  });
}

const ERROR_FIELDS = [
  ...["message", "status", "statusCode", "error", "body", "responseBody", "data", "cause", "lastError"],
];

function readable(error: unknown): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const name of ERROR_FIELDS) {
    try {
      fields[name] = (error as Record<string, unknown> | undefined)?.[name];
    } catch {
      // The field stays undefined.
    }
  }
  return fields;
}

function unreachableMessage(model: CatalogueModel): string {
  const { baseUrl, provider } = model;
  const remedy = isLoopback(model) ? "Start the server, or correct the port." : "Check the address.";
  return `No server for ${provider} answers at ${shownAddress(baseUrl)}. ${remedy}`;
}

/** The size of a refused request. */
export interface RefusedRequest extends RequestSize {
  /** The window of the model. Default: unknown. */
  windowTokens?: number | undefined;
  /** The caller's count of the context, if it is better than the estimate. */
  contextTokens?: number | undefined;
  /** False if the request contained only text. Default: true. */
  hasMedia?: boolean | undefined;
}

/** A refusal and its request. */
export interface ClassifyOptions {
  /** A `ProviderError`, or an error of an SDK. */
  error: unknown;
  /** The name before the slash in `provider/id`. Some words apply to one provider only. */
  provider: string;
  /** The id after the slash. */
  modelId: string;
  /** Classify a 429 without a body as an overflow. Default: false. */
  bodyless429IsOverflow?: boolean | undefined;
  /** Tells an output cap that is too large from an input that is, if the message leaves it open. */
  request?: RefusedRequest | undefined;
  /** Redacted in the message. */
  apiKey?: string | undefined;
}

const MAX_MESSAGE_CHARS = 2_000;
/** An estimate can be a third too low. */
const ESTIMATE_FACTOR = 1.5;
/** A retry does not help. */
const BILLING = /insufficient[_ ]quota|billing|credit balance|out of credits|payment/i;

/** Classifies a provider's refusal and reads its numbers. Never throws. */
export function classifyFailure(options: ClassifyOptions): ModelFailure {
  const { provider, modelId, apiKey } = options;
  const error = providerError(options.error);
  const texts = errorTexts(error);
  const reading = error.kind === "refused" ? readingOf(options, texts) : NOTHING_READ;
  const tokens = reportedTokens(reading, texts, options.request);
  const kind = kindOf(options, { texts, reading, tokens });
  const isGuessed =
    kind !== "inputTooLong" && isOverflowBySize({ ...options, error }, { texts, reading, kind });
  const message = shown(texts, apiKey);
  return {
    kind: isGuessed ? "inputTooLong" : kind,
    ...(isGuessed && { isGuessed: true }),
    message: error.advice === undefined ? message : `${sentence(message)} ${error.advice}`,
    provider,
    modelId,
    status: texts.status,
    code: texts.code === undefined ? undefined : withoutKeys(texts.code, apiKey),
    retryable: isRetryable(kind, error, texts),
    retryAfterMs: error.retryAfterMs,
    ...tokens,
  };
}

const NOTHING_READ: Reading = { outcome: "named", numbers: {} };

/** The table first, then the meaning of the words. */
function readingOf({ provider }: ClassifyOptions, texts: ErrorTexts): Reading {
  const known = matchRow(texts.all, provider);
  if (known !== undefined) return withNumbers(known, texts);
  const { outcome, numbers } = isJudged(texts) ? judgeRefusal(texts.all) : NOTHING_READ;
  const isTooLarge = /^\s*413\b/.test(texts.all) && ["request", "named", "unnamed"].includes(outcome);
  if (isTooLarge) return { outcome: "bytes", numbers };
  return { outcome: outcome === "request" ? "input" : outcome, numbers };
}

/** The next sentence may contain the numbers. */
function withNumbers(known: Reading, { all }: ErrorTexts): Reading {
  const isInput = known.outcome === "input" || known.outcome === "inputOrCap";
  if (!isInput || Object.keys(known.numbers).length > 0) return known;
  const judged = judgeRefusal(all);
  return judged.outcome === "input" ? { ...known, numbers: judged.numbers } : known;
}

/** Statuses that name a cause by themselves. The words may speak of a key, a model or a header. */
const SPEAKING_STATUSES: ReadonlySet<number> = new Set([
  401, 402, 403, 404, 405, 408, 409, 410, 414, 415, 429, 431, 499, 504,
]);

function isJudged({ status }: ErrorTexts): boolean {
  return status === undefined || !SPEAKING_STATUSES.has(status);
}

/** Share of the window. A refusal without a reason is most likely about a larger context. */
const NEAR_THE_WINDOW = 0.8;
const REFUSED_AS_IT_IS: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * True for a refusal without a cause if the context is near its window, and for a refusal of a text-only request for its
 * bytes. A compaction is worth one try then.
 */
function isOverflowBySize(
  { error, request }: ClassifyOptions & { error: ProviderError },
  { texts, reading, kind }: { texts: ErrorTexts; reading: Reading; kind: FailureKind },
): boolean {
  if (error.kind !== "refused" || request === undefined) return false;
  if (kind === "bytesTooLarge") return request.hasMedia === false;
  if (reading.outcome !== "unnamed" || !REFUSED_AS_IT_IS.has(texts.status ?? 0)) return false;
  if (texts.param !== undefined && !/^(?:messages|input|prompt|contents)$/.test(texts.param)) return false;
  const { inputTokens, contextTokens = 0, windowTokens = 0 } = request;
  return windowTokens > 0 && Math.max(inputTokens, contextTokens) > windowTokens * NEAR_THE_WINDOW;
}

type ReportedTokens = Pick<ModelFailure, "windowTokens" | "inputTokens" | "outputLimitTokens">;

function reportedTokens(
  { numbers: read }: Reading,
  texts: ErrorTexts,
  request: RefusedRequest | undefined,
): ReportedTokens {
  // A "total" that equals the requested cap is the cap.
  const isCap = read.total !== undefined && read.total === request?.maxOutputTokens;
  const numbers = isCap ? { ...read, total: undefined, output: read.total } : read;
  const window = numbers.window ?? texts.numbers.get("n_ctx");
  const input = numbers.input ?? texts.numbers.get("n_prompt_tokens") ?? inputOfTotal(numbers, request);
  const sum = Math.max(numbers.total ?? 0, (input ?? 0) + (numbers.output ?? request?.maxOutputTokens ?? 0));
  const isExceeded = input !== undefined && window !== undefined && sum >= window;
  return definedFields({
    windowTokens: (isExceeded || canBeWindow(window, request)) && window !== 0 ? window : undefined,
    inputTokens: input,
    outputLimitTokens: numbers.outputLimit,
  });
}

/** A window of more than twice the request was misread, unless the server's own count exceeds it. */
function canBeWindow(window = 0, request: RefusedRequest | undefined): boolean {
  return request === undefined || window <= 2 * (request.inputTokens + request.maxOutputTokens);
}

/**
 * The input in "you requested N tokens". Some servers include the output cap without saying so. Returns the reading that
 * is nearer to the client's estimate.
 */
function inputOfTotal({ total, output }: Reading["numbers"], request?: RefusedRequest): number | undefined {
  if (total === undefined) return undefined;
  if (output !== undefined) return Math.max(0, total - output);
  const withoutCap = total - (request?.maxOutputTokens ?? 0);
  if (request === undefined || withoutCap <= 0) return total;
  const isNearer = Math.abs(withoutCap - request.inputTokens) < Math.abs(total - request.inputTokens);
  return isNearer ? withoutCap : total;
}

const KINDS: Readonly<Record<Exclude<Reading["outcome"], "inputOrCap">, FailureKind>> = {
  request: "other",
  named: "other",
  unnamed: "other",
  rateLimit: "rateLimit",
  damagedHistory: "damagedHistory",
  bytes: "bytesTooLarge",
  cap: "outputCapTooLarge",
  input: "inputTooLong",
};

interface Evidence {
  texts: ErrorTexts;
  reading: Reading;
  tokens: ReportedTokens;
}

function kindOf(options: ClassifyOptions, { texts, reading, tokens }: Evidence): FailureKind {
  if (texts.isBodyless && isBodylessOverflow(options, texts.status)) return "inputTooLong";
  if (reading.outcome !== "inputOrCap") return KINDS[reading.outcome];
  return inputFits(tokens, options.request) ? "outputCapTooLarge" : "inputTooLong";
}

/** Cerebras refuses an overflow without a word. */
function isBodylessOverflow({ provider, bodyless429IsOverflow }: ClassifyOptions, status = 0): boolean {
  if (status === 429) return bodyless429IsOverflow === true;
  return (status === 400 || status === 413) && /cerebras/i.test(provider);
}

/** True if the input alone would fit. Without evidence, the input is too long. */
function inputFits(
  { inputTokens, windowTokens }: ReportedTokens,
  request: RefusedRequest | undefined,
): boolean {
  if (inputTokens !== undefined && windowTokens !== undefined) return inputTokens < windowTokens;
  const window = windowTokens ?? request?.windowTokens;
  if (request === undefined || !window) return false;
  const likelyInput = request.inputTokens * ESTIMATE_FACTOR;
  return likelyInput < window && likelyInput + request.maxOutputTokens > window;
}

function isRetryable(kind: FailureKind, error: ProviderError, texts: ErrorTexts): boolean {
  if (kind === "rateLimit") return !BILLING.test(texts.all) && !isAboveItsLimit(texts.all);
  if (kind !== "other") return false;
  if (error.kind !== "refused") return error.kind !== "excess";
  const { status } = texts;
  if (status !== undefined && status >= 400) return status >= 500 || status === 408;
  return isPassing(texts.all, error.isInStream);
}

/** "Limit 30000, Requested 40000": a request above the allowance of a whole minute never succeeds. */
function isAboveItsLimit(text: string): boolean {
  const [, limit, requested] = /limit:? (\d[\d,]*),.{0,40}?requested:? (\d[\d,]*)/i.exec(text) ?? [];
  if (limit === undefined || requested === undefined) return false;
  return Number(requested.replaceAll(",", "")) > Number(limit.replaceAll(",", ""));
}

function shown(texts: ErrorTexts, apiKey: string | undefined): string {
  const text = texts.message.trim() || (texts.status === undefined ? "" : `HTTP ${texts.status}`);
  const said = textHead(text, 10 * MAX_MESSAGE_CHARS) || "The provider gave no reason.";
  const clean = withoutKeys(said, apiKey).toWellFormed();
  return shortened(clean, MAX_MESSAGE_CHARS);
}

/** Providers repeat keys in their refusals, and the session stores the failure. */
function withoutKeys(text: string, apiKey: string | undefined): string {
  return redactSecrets(text, { known: apiKey === undefined ? [] : [apiKey], isStrict: true });
}
