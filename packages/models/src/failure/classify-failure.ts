import { BonsaiError, redactSecrets, shortened, textHead } from "@bonsai-agent/messages";
import { type CatalogueModel, isLoopback, shownAddress } from "../model.ts";
import { ProviderError } from "../provider.ts";
import { type ErrorTexts, errorTexts } from "./error-texts.ts";
import { type FailureKind, type ModelFailure, sentence } from "./failure.ts";
import { isPassing, judgeRefusal } from "./judge-refusal.ts";
import { matchRow, type RowNumber, type RowOutcome } from "./overflow-rows.ts";

interface RequestFailureOptions {
  /** Whatever was thrown. */
  error: unknown;
  model: CatalogueModel;
  apiKey: string | undefined;
  asked: AskedTokens | undefined;
  bodyless429IsOverflow: boolean;
}

/** What went wrong with a request, whoever threw what. Never throws. */
export function requestFailure(options: RequestFailureOptions): ModelFailure {
  const { error, model, apiKey, asked, bodyless429IsOverflow } = options;
  const { provider, id: modelId } = model;
  if (BonsaiError.is(error)) {
    const { message, hint, code } = error;
    return { kind: "other", message: `${message} ${hint}`.trim(), provider, modelId, code, retryable: false };
  }
  const failure = classifyFailure({
    error: error instanceof ProviderError ? error : foreign(error),
    provider,
    modelId,
    bodyless429IsOverflow,
    apiKey,
    ...(asked === undefined ? {} : { asked }),
  });
  const unreachable = isRefusedConnection(error) ? unreachableMessage(model) : undefined;
  return unreachable === undefined ? failure : { ...failure, message: unreachable };
}

/** A provider of somebody else's may throw anything; where it looks like a refusal it is read like one. */
function foreign(error: unknown): ProviderError {
  return new ProviderError({
    kind: "refused",
    message: textOf(error),
    status: numberIn(error, "status"),
    body: fieldOf(error, "error") ?? fieldOf(error, "body"),
    cause: fieldOf(error, "cause"),
  });
}

function textOf(error: unknown): string {
  const message = fieldOf(error, "message");
  if (typeof message === "string" && message !== "") return message;
  if (typeof error === "string" && error !== "") return error;
  return "The provider threw an error without a message.";
}

function numberIn(error: unknown, name: string): number | undefined {
  const value = fieldOf(error, name);
  return typeof value === "number" ? value : undefined;
}

function fieldOf(error: unknown, name: string): unknown {
  if (typeof error !== "object" || error === null) return undefined;
  try {
    return (error as Record<string, unknown>)[name];
  } catch {
    // A getter that throws has nothing to tell.
    return undefined;
  }
}

/** Looks along the causes, and into the two addresses that `localhost` is. */
function isRefusedConnection(error: unknown, depth = 0): boolean {
  if (depth > 8) return false;
  if (fieldOf(error, "code") === "ECONNREFUSED") return true;
  const parts = fieldOf(error, "errors");
  const inner = [fieldOf(error, "cause"), ...(Array.isArray(parts) ? parts.slice(0, 4) : [])];
  return inner.some((part) => part !== undefined && isRefusedConnection(part, depth + 1));
}

function unreachableMessage(model: CatalogueModel): string {
  const { baseUrl, provider } = model;
  const remedy = isLoopback(model) ? "Start the server, or correct the port." : "Check the address.";
  return `No server for ${provider} answers at ${shownAddress(baseUrl)}. ${remedy}`;
}

/** What the refused request asked for, as the client knows it. */
export interface AskedTokens {
  /** The output cap that was sent. */
  maxOutputTokens: number;
  /** The client's own estimate of the input. */
  inputTokens: number;
  /** The window that the client believed in; absent where unknown. */
  windowTokens?: number | undefined;
  /** The caller's own count of the context, where it knows better than the estimate. */
  contextTokens?: number | undefined;
  /** False where the request was text alone. Default true: nobody knows. */
  hasMedia?: boolean | undefined;
}

/** A refusal, and what is known of its request. */
export interface ClassifyOptions {
  /** As the provider threw it. */
  error: ProviderError;
  /** The name before the slash in `provider/id`; some words hold for one provider alone. */
  provider: string;
  /** The id behind it. */
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
/** Waiting does not fill an account. */
const BILLING = /insufficient[_ ]quota|billing|credit balance|out of credits|payment/i;

/** Sorts a provider's refusal into one of six outcomes, with the numbers that it tells. Never throws. */
export function classifyFailure(options: ClassifyOptions): ModelFailure {
  const { error, provider, modelId, apiKey } = options;
  const texts = errorTexts(error);
  const reading = error.kind === "refused" ? readingOf(options, texts) : NOTHING_READ;
  const tokens = reportedTokens(reading, texts, options.asked);
  const kind = kindOf(options, { texts, reading, tokens });
  const isPresumed = kind !== "inputTooLong" && isOverflowBySize(options, { texts, reading, kind });
  return {
    kind: isPresumed ? "inputTooLong" : kind,
    ...(isPresumed && { presumed: true }),
    message: withAdvice(shown(texts, apiKey), error.advice),
    provider,
    modelId,
    status: texts.status,
    code: texts.code === undefined ? undefined : withoutKeys(texts.code, apiKey),
    retryable: isRetryable(kind, error, texts),
    retryAfterMs: error.retryAfterMs,
    ...tokens,
    ...(reading.numbers.bytes === undefined ? {} : { requestBytes: reading.numbers.bytes }),
    ...(reading.numbers.limitBytes === undefined ? {} : { limitBytes: reading.numbers.limitBytes }),
  };
}

/** What the words of a refusal say: by the table where a row knows them, else by meaning. */
interface Reading {
  /** `named`: of something else. `unnamed`: of nothing. */
  outcome: RowOutcome | "named" | "unnamed";
  numbers: Partial<Record<RowNumber, number>>;
}

const NOTHING_READ: Reading = { outcome: "named", numbers: {} };

function readingOf({ provider }: ClassifyOptions, texts: ErrorTexts): Reading {
  const known = matchRow(texts.all, provider, false);
  if (known !== undefined) return withNumbers({ outcome: known.row.outcome, numbers: known.numbers }, texts);
  const judged = isJudged(texts) ? judgedReading(texts) : NOTHING_READ;
  if (judged.outcome !== "named" && judged.outcome !== "unnamed") return judged;
  const vague = matchRow(texts.all, provider, true);
  const isOverruled = judged.outcome === "named" && vague?.row.outcome !== "bytes";
  if (vague === undefined || isOverruled) return judged;
  return withNumbers({ outcome: vague.row.outcome, numbers: vague.numbers }, texts);
}

/** By HTTP, 413 speaks of bytes where the words leave it open. */
function judgedReading({ all, status }: ErrorTexts): Reading {
  const { outcome, numbers } = judgeRefusal(all);
  if (outcome !== "request") return { outcome, numbers };
  return { outcome: status === 413 ? "bytes" : "input", numbers };
}

/** A row without numbers knows the sentence; the numbers may stand in the next one. */
function withNumbers(known: Reading, { all }: ErrorTexts): Reading {
  const isInput = known.outcome === "input" || known.outcome === "inputOrCap";
  if (!isInput || Object.keys(known.numbers).length > 0) return known;
  const judged = judgeRefusal(all);
  return judged.outcome === "input" ? { ...known, numbers: judged.numbers } : known;
}

/** Statuses that say by themselves what is wrong, whatever a key, a model or a header exceeds. */
const SPEAKING_STATUSES: ReadonlySet<number> = new Set([
  401, 402, 403, 404, 405, 408, 409, 410, 414, 415, 429, 431, 499, 504,
]);

function isJudged({ status }: ErrorTexts): boolean {
  return status === undefined || !SPEAKING_STATUSES.has(status);
}

/** A context so near to its window is what a refusal without a reason is most likely about. */
const NEAR_THE_WINDOW = 0.8;
const REFUSED_AS_IT_IS: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * By circumstance: a refusal that names no cause, of a context near its window; and one for its bytes, of text alone,
 * where no picture can be left out. The caller's compaction is worth one try then.
 */
function isOverflowBySize(
  { error, asked }: ClassifyOptions,
  { texts, reading, kind }: { texts: ErrorTexts; reading: Reading; kind: FailureKind },
): boolean {
  if (error.kind !== "refused" || asked === undefined) return false;
  if (kind === "bytesTooLarge") return asked.hasMedia === false;
  if (reading.outcome !== "unnamed" || !REFUSED_AS_IT_IS.has(texts.status ?? 0)) return false;
  if (texts.param !== undefined && !/^(?:messages|input|prompt|contents)$/.test(texts.param)) return false;
  const { inputTokens, contextTokens = 0, windowTokens = 0 } = asked;
  return windowTokens > 0 && Math.max(inputTokens, contextTokens) > windowTokens * NEAR_THE_WINDOW;
}

type ReportedTokens = Pick<
  ModelFailure,
  "windowTokens" | "inputTokens" | "outputTokens" | "outputLimitTokens"
>;

/** The numbers of a refusal; a sum of input and cap is taken apart where that can be done. */
function reportedTokens(reading: Reading, texts: ErrorTexts, asked: AskedTokens | undefined): ReportedTokens {
  const numbers = sorted(reading.numbers, asked);
  const windowTokens = numbers.window ?? texts.numbers.get("n_ctx");
  const outputTokens = numbers.output;
  const inputTokens = numbers.input ?? texts.numbers.get("n_prompt_tokens") ?? inputOfTotal(numbers, asked);
  const isWindow = windowTokens !== undefined && canBeWindow(windowTokens, { inputTokens, numbers, asked });
  return {
    ...(isWindow ? { windowTokens } : {}),
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(numbers.outputLimit === undefined ? {} : { outputLimitTokens: numbers.outputLimit }),
  };
}

/** What was asked for as the answer's length is no sum of anything. */
function sorted(
  { total, ...numbers }: Reading["numbers"],
  asked: AskedTokens | undefined,
): Reading["numbers"] {
  if (total === undefined) return numbers;
  return total === asked?.maxOutputTokens ? { ...numbers, output: total } : { ...numbers, total };
}

/** What was sent did not fit into the window: one that holds twice as much, and no count of the server's, was misread. */
function canBeWindow(
  windowTokens: number,
  {
    inputTokens,
    numbers,
    asked,
  }: { inputTokens: number | undefined; numbers: Reading["numbers"]; asked: AskedTokens | undefined },
): boolean {
  const sum = Math.max(
    numbers.total ?? 0,
    (inputTokens ?? 0) + (numbers.output ?? asked?.maxOutputTokens ?? 0),
  );
  if (windowTokens <= 0) return false;
  if (asked === undefined || (inputTokens !== undefined && sum >= windowTokens)) return true;
  return windowTokens <= 2 * (asked.inputTokens + asked.maxOutputTokens);
}

/**
 * The input behind "you requested N tokens". Some servers count the output cap in and do not say so: of the two
 * readings the one nearer to the client's own estimate is taken.
 */
function inputOfTotal({ total, output }: Reading["numbers"], asked?: AskedTokens): number | undefined {
  if (total === undefined) return undefined;
  if (output !== undefined) return Math.max(0, total - output);
  const withoutCap = total - (asked?.maxOutputTokens ?? 0);
  if (asked === undefined || withoutCap <= 0) return total;
  const isNearer = Math.abs(withoutCap - asked.inputTokens) < Math.abs(total - asked.inputTokens);
  return isNearer ? withoutCap : total;
}

interface Evidence {
  texts: ErrorTexts;
  reading: Reading;
  tokens: ReportedTokens;
}

function kindOf(options: ClassifyOptions, { texts, reading, tokens }: Evidence): FailureKind {
  const { bodyless429IsOverflow = false } = options;
  if (bodyless429IsOverflow && texts.status === 429 && texts.isBodyless) return "inputTooLong";
  switch (reading.outcome) {
    case "named":
    case "unnamed":
      return "other";
    case "rateLimit":
    case "damagedHistory":
      return reading.outcome;
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
function inputFits({ inputTokens, windowTokens }: ReportedTokens, asked: AskedTokens | undefined): boolean {
  if (inputTokens !== undefined && windowTokens !== undefined) return inputTokens < windowTokens;
  const window = windowTokens ?? asked?.windowTokens;
  if (asked === undefined || !window) return false;
  const likelyInput = asked.inputTokens * ESTIMATE_FACTOR;
  return likelyInput < window && likelyInput + asked.maxOutputTokens > window;
}

function isRetryable(kind: FailureKind, error: ProviderError, texts: ErrorTexts): boolean {
  if (kind === "rateLimit") return !BILLING.test(texts.all) && !isAboveItsLimit(texts.all);
  if (kind !== "other") return false;
  if (error.kind !== "refused") return error.kind !== "excess";
  const { status } = texts;
  if (status !== undefined && status >= 400) return status >= 500 || status === 408;
  return isPassing(texts.all, error.isInStream);
}

/** "Limit 30000, Requested 40000": one request above a whole minute's allowance never gets through. */
function isAboveItsLimit(text: string): boolean {
  const [, limit, requested] = /limit:? (\d[\d,]*),.{0,40}?requested:? (\d[\d,]*)/i.exec(text) ?? [];
  if (limit === undefined || requested === undefined) return false;
  return Number(requested.replaceAll(",", "")) > Number(limit.replaceAll(",", ""));
}

function withAdvice(message: string, advice: string | undefined): string {
  return advice === undefined ? message : `${sentence(message)} ${advice}`;
}

function shown(texts: ErrorTexts, apiKey: string | undefined): string {
  const text = texts.message.trim() || (texts.status === undefined ? "" : `HTTP ${texts.status}`);
  const said = textHead(text, 10 * MAX_MESSAGE_CHARS) || "The provider gave no reason.";
  const clean = withoutKeys(said, apiKey).toWellFormed();
  return shortened(clean, MAX_MESSAGE_CHARS);
}

/** Providers repeat keys in their refusals, and a failure is stored in the session. */
function withoutKeys(text: string, apiKey: string | undefined): string {
  return redactSecrets(text, { known: apiKey === undefined ? [] : [apiKey], isStrict: true });
}
