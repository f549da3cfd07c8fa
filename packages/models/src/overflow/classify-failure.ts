import type { FailureKind, ModelFailure } from "../failure.ts";
import type { ProviderError } from "../provider.ts";
import { redactKeys } from "../redact-keys.ts";
import { type ErrorTexts, errorTexts } from "./error-texts.ts";
import { matchRow, type RowMatch } from "./match-row.ts";

/** What the refused request asked for, as the client knows it. */
export interface AskedTokens {
  /** The output cap that was sent. */
  maxOutputTokens: number;
  /** The client's own estimate of the input. */
  inputTokens: number;
  /** The window that the client believed in; absent where unknown. */
  windowTokens?: number | undefined;
}

export interface ClassifyOptions {
  error: ProviderError;
  provider: string;
  modelId: string;
  /** Take a 429 without a body for an overflow. Default false. */
  bodyless429IsOverflow?: boolean;
  /** Tells an output cap that is too large from an input that is, where the message leaves it open. */
  asked?: AskedTokens;
  /** Blotted out of the message wherever it stands. */
  apiKey?: string | undefined;
}

const MAX_MESSAGE_CHARS = 2_000;
/** An estimate can be a third too low: an input that fits even then is not what was too long. */
const ESTIMATE_FACTOR = 1.5;
const RETRYABLE_CODES = /overloaded|server_error|api_error|timeout|unavailable/i;
/** Waiting does not fill an account. */
const BILLING = /insufficient[_ ]quota|billing|credit balance|out of credits|payment/i;

/** Sorts a provider's refusal into one of six outcomes, with the numbers that it tells. Never throws. */
export function classifyFailure(options: ClassifyOptions): ModelFailure {
  const { error, provider, modelId, apiKey } = options;
  const texts = errorTexts(error);
  const match = error.kind === "refused" ? rowOf(options, texts) : undefined;
  const tokens = tokensTold(match, texts, options.asked);
  const kind = kindOf(options, { texts, match, tokens });
  return {
    kind,
    message: shown(texts, apiKey),
    provider,
    modelId,
    status: texts.status,
    code: texts.code === undefined ? undefined : redactKeys(texts.code, apiKey),
    retryable: isRetryable(kind, error, texts),
    retryAfterMs: error.retryAfterMs,
    ...tokens,
    ...(match?.numbers.bytes === undefined ? {} : { requestBytes: match.numbers.bytes }),
    ...(match?.numbers.limitBytes === undefined ? {} : { limitBytes: match.numbers.limitBytes }),
  };
}

function rowOf({ provider }: ClassifyOptions, texts: ErrorTexts): RowMatch | undefined {
  return matchRow({ text: texts.all, provider });
}

type TokensTold = Pick<ModelFailure, "windowTokens" | "inputTokens" | "outputTokens" | "outputLimitTokens">;

/** The numbers of a refusal; a sum of input and cap is taken apart where that can be done. */
function tokensTold(
  match: RowMatch | undefined,
  texts: ErrorTexts,
  asked: AskedTokens | undefined,
): TokensTold {
  const { numbers = {} } = match ?? {};
  const windowTokens = numbers.window ?? texts.numbers.get("n_ctx");
  const outputTokens = numbers.output;
  const inputTokens = numbers.input ?? texts.numbers.get("n_prompt_tokens") ?? inputOfTotal(numbers, asked);
  return {
    ...(windowTokens === undefined ? {} : { windowTokens }),
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(numbers.outputLimit === undefined ? {} : { outputLimitTokens: numbers.outputLimit }),
  };
}

/**
 * The input behind "you requested N tokens". Some servers count the output cap in and do not say so: of the two
 * readings the one nearer to the client's own estimate is taken.
 */
function inputOfTotal({ total, output }: RowMatch["numbers"], asked?: AskedTokens): number | undefined {
  if (total === undefined) return undefined;
  if (output !== undefined) return Math.max(0, total - output);
  const withoutCap = total - (asked?.maxOutputTokens ?? 0);
  if (asked === undefined || withoutCap <= 0) return total;
  const isNearer = Math.abs(withoutCap - asked.inputTokens) < Math.abs(total - asked.inputTokens);
  return isNearer ? withoutCap : total;
}

interface Evidence {
  texts: ErrorTexts;
  match: RowMatch | undefined;
  tokens: TokensTold;
}

function kindOf(options: ClassifyOptions, { texts, match, tokens }: Evidence): FailureKind {
  const { bodyless429IsOverflow = false } = options;
  if (bodyless429IsOverflow && texts.status === 429 && texts.isBodyless) return "inputTooLong";
  switch (match?.row.outcome) {
    case undefined:
      return "other";
    case "rateLimit":
    case "damagedHistory":
      return match.row.outcome;
    case "bytes":
      return "bytesTooLarge";
    case "cap":
      return "outputCapTooLarge";
    case "input":
      return "inputTooLong";
    case "inputOrCap":
      return inputFits(tokens, options.asked) ? "outputCapTooLarge" : "inputTooLong";
  }
}

/** Whether the input alone would have been taken; where nothing tells, it is what was too long. */
function inputFits({ inputTokens, windowTokens }: TokensTold, asked: AskedTokens | undefined): boolean {
  if (inputTokens !== undefined && windowTokens !== undefined) return inputTokens < windowTokens;
  const window = windowTokens ?? asked?.windowTokens;
  if (asked === undefined || !window) return false;
  const likelyInput = asked.inputTokens * ESTIMATE_FACTOR;
  return likelyInput < window && likelyInput + asked.maxOutputTokens > window;
}

function isRetryable(kind: FailureKind, error: ProviderError, texts: ErrorTexts): boolean {
  if (kind === "rateLimit") return !BILLING.test(texts.all) && !isAboveItsLimit(texts.all);
  if (kind !== "other") return false;
  if (error.kind !== "refused") return true;
  const { status } = texts;
  if (status !== undefined && status >= 400) return status >= 500 || status === 408;
  return RETRYABLE_CODES.test(texts.code ?? "");
}

/** "Limit 30000, Requested 40000": one request above a whole minute's allowance never gets through. */
function isAboveItsLimit(text: string): boolean {
  const [, limit, requested] = /limit:? (\d[\d,]*),.{0,40}?requested:? (\d[\d,]*)/i.exec(text) ?? [];
  if (limit === undefined || requested === undefined) return false;
  return Number(requested.replaceAll(",", "")) > Number(limit.replaceAll(",", ""));
}

function shown(texts: ErrorTexts, apiKey: string | undefined): string {
  const said = texts.message.trim() || (texts.status === undefined ? "" : `HTTP ${texts.status}`);
  const clean = redactKeys(said || "The provider gave no reason.", apiKey).toWellFormed();
  return clean.length > MAX_MESSAGE_CHARS ? `${clean.slice(0, MAX_MESSAGE_CHARS).toWellFormed()}…` : clean;
}
