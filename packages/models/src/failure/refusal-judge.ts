import type { RowNumbers, RowOutcome } from "./refusal-rows.ts";
import { type Concept, MIN_TOKENS, type NumberToken, type Statement, statementsOf } from "./refusal-words.ts";

/** The meaning of a refusal's words. */
export interface Reading {
  /**
   * `request`: too large, in tokens or in bytes. `named`: the text names another cause. `unnamed`: the text names no
   * cause.
   */
  outcome: RowOutcome | "request" | "named" | "unnamed";
  numbers: RowNumbers;
}

/** A larger number is an id. */
const MAX_TOKENS = 100_000_000;

/**
 * Reads a refusal by meaning: a subject (context, prompt, tokens) exceeds a limit, and the text names nothing else that
 * has limits of its own. Reads each sentence alone, because the next one may be advice, and then the whole text
 * ("Limit: 32768. Requested: 41002."). Runs in linear time.
 */
export function judgeRefusal(text: string): Reading {
  const statements = statementsOf(text);
  const whole = joined(statements);
  if (has(whole, "rate")) return { outcome: isBounded(whole) ? "rateLimit" : "named", numbers: {} };
  const isVetoed = has(whole, "account", "process") && !isOfContext(whole);
  const bounded = isVetoed
    ? undefined
    : [...statements, whole].find((each) => (meaningOf(each) ?? "named") !== "named");
  if (bounded !== undefined) return judgementOf(bounded, whole);
  const isOfBytes = has(whole, "bytes") && !has(whole, "media", "field", "tokens", "context");
  if (!isVetoed && isOfBytes && has(whole, "over")) return { outcome: "bytes", numbers: {} };
  return { outcome: namesCause(whole) ? "named" : "unnamed", numbers: {} };
}

function judgementOf(bounded: Statement, whole: Statement): Reading {
  const isOfCap = has(whole, "cap") && !whole.hasNegative && !has(bounded, "input", "context");
  const outcome = isOfCap ? "cap" : (meaningOf(bounded) ?? "named");
  if (outcome === "cap") return { outcome, numbers: capNumbers(whole) };
  if (outcome === "named") return { outcome, numbers: {} };
  if (!has(whole, "context", "input", "tokens")) return { outcome: "request", numbers: {} };
  const own = numbersOf(bounded, outcome);
  const all = numbersOf(whole, outcome);
  return { outcome, numbers: Object.keys(all).length > Object.keys(own).length ? all : own };
}

function has({ concepts }: Statement, ...wanted: Concept[]): boolean {
  return wanted.some((concept) => concepts.has(concept));
}

function joined(statements: readonly Statement[]): Statement {
  return {
    words: statements.flatMap(({ words }) => words),
    concepts: new Set(statements.flatMap(({ concepts }) => [...concepts])),
    isComparison: statements.some(({ isComparison }) => isComparison),
    hasNegative: statements.some(({ hasNegative }) => hasNegative),
    hasPath: statements.some(({ hasPath }) => hasPath),
    numbers: statements.flatMap(({ numbers }) => numbers),
  };
}

function isBounded(statement: Statement): boolean {
  return has(statement, "over", "tooMany", "reached", "limit") || statement.isComparison;
}

function meaningOf(statement: Statement): "input" | "inputOrCap" | "cap" | "named" | undefined {
  if (has(statement, "cap")) return capMeaning(statement);
  if (!isTooLong(statement)) return undefined;
  return isOfOther(statement) ? "named" : "input";
}

/** True if the reason for an answer's end names the limit of the input: `context_length_exceeded`, `max_prompt_tokens`. */
export function namesFullContext(reason: string): boolean {
  return statementsOf(reason).some(
    (statement) =>
      has(statement, "context", "input") &&
      has(statement, "over", "reached", "limit", "length") &&
      !has(statement, "cap", "account", "media"),
  );
}

/** Words of errors that the same request would cause again. */
const BLAMES_THE_REQUEST =
  /\b(?:unauthori[sz]ed|invalid[ _-](?:request|argument|parameter|param|api|key|prompt|image|model|type|value|input|json)\w*|bad[ _-]?request\w*|not[ _-]?found\w*|not[ _-]supported|unsupported|(?:^|status|code|http|error)\W{0,3}4(?!08|29)\d\d)\b/im;
const BLAMES_THE_SERVER =
  /overload|unavailable|internal|server[ _-]?err|api_error|time[d _-]*out|timeout|deadline|\beof\b|\beconn|reset|hang[ _]?up|hung up|disconnect|terminated|closed|broken pipe|upstream|gateway|temporar|try(?:ing)? again|retry|busy|crash|connection|network|socket|(?:^|status|code|http|error)\W{0,3}(?:5\d\d|408)\b/im;

/**
 * True for an error without a status that a retry may avoid: its words blame the server, or it names no culprit and came
 * inside an answer, after the server had accepted the request.
 */
export function isPassing(text: string, isInStream: boolean): boolean {
  if (has(joined(statementsOf(text)), "account") || BLAMES_THE_REQUEST.test(text)) return false;
  return BLAMES_THE_SERVER.test(text) || isInStream;
}

/** If a text names the answer's limit beside the input, both together are too long. */
function capMeaning(statement: Statement): "input" | "cap" | "inputOrCap" | undefined {
  if (statement.hasNegative) return "input";
  const isInputToo = has(statement, "input", "request") && has(statement, "context", "tokens", "length");
  if (isInputToo && has(statement, "over")) return "inputOrCap";
  const isBound = has(statement, "limit") && statement.numbers.some((number) => !isStatus(number));
  return isBound || has(statement, "over", "reached") ? "cap" : undefined;
}

function isTooLong(statement: Statement): boolean {
  const { numbers } = statement;
  const isMore = has(statement, "over") || statement.isComparison;
  const isCounted = has(statement, "tokens", "length");
  const isLimited = has(statement, "limit");
  const counts = countsOf(numbers);
  const isTwoCounts = isCounted && counts.length > 1;
  if (has(statement, "context"))
    return (
      isMore || isTwoCounts || (isLimited && isCounted && counts.length > 0) || has(statement, "reached")
    );
  if (has(statement, "bytes") && !has(statement, "tokens")) return false;
  const isAtLimit = (hasNumber: boolean) => isLimited && (hasNumber || has(statement, "reached"));
  if (has(statement, "tokens"))
    return isMore || isTwoCounts || has(statement, "tooMany") || isAtLimit(counts.length > 0);
  if (!has(statement, "input", "request")) return false;
  return isMore || (isCounted && isAtLimit(numbers.some(({ value }) => value >= MIN_TOKENS)));
}

/** Names, titles and pictures have limits of their own. Counted in tokens, they are a part of the context. */
function isOfOther(statement: Statement): boolean {
  if (isOfContext(statement)) return false;
  if (has(statement, "field") || statement.hasPath) return true;
  return has(statement, "media") && !(has(statement, "tokens") && has(statement, "input", "request"));
}

/** A "context deadline exceeded" is about time. */
function isOfContext(statement: Statement): boolean {
  return (
    has(statement, "context") &&
    !has(statement, "process") &&
    (has(statement, "over", "reached") || statement.isComparison)
  );
}

function namesCause(whole: Statement): boolean {
  return whole.hasPath || has(whole, "cause", "field", "media", "cap", "rate", "account", "process");
}

const NOT_COUNTED = /^(?:code|status|error|http|line|column|position|index|id)$/;
const OTHER_UNITS = /^(?:characters|chars|bytes?|[kmg]i?b|pixels|seconds|ms)$/;

function isTokenCount({ value, before, after }: NumberToken): boolean {
  if (!Number.isSafeInteger(value) || value < MIN_TOKENS || value > MAX_TOKENS) return false;
  return (
    !isStatus({ value, before, after }) &&
    !NOT_COUNTED.test(before[0] ?? "") &&
    ![...before.slice(0, 3), ...after.slice(0, 1)].some((word) => OTHER_UNITS.test(word))
  );
}

function isStatus({ value, before }: NumberToken): boolean {
  return before.every((word) => word === "#") && value >= 400 && value < 600;
}

function countsOf(numbers: readonly NumberToken[]): NumberToken[] {
  const counts = new Map(numbers.filter(isTokenCount).map((number) => [number.value, number]));
  return [...counts.values()].toSorted((a, b) => a.value - b.value);
}

/** The larger of two counts is the input. The words around a single count tell if it is the window. */
function numbersOf({ numbers }: Statement, outcome: "input" | "inputOrCap"): Reading["numbers"] {
  const [first, second, ...more] = countsOf(numbers);
  if (first === undefined || more.length > 0) return {};
  if (second !== undefined)
    return {
      window: first.value,
      ...(outcome === "input" ? { input: second.value } : { total: second.value }),
    };
  return isBound(first) ? { window: first.value } : {};
}

/** The smaller of two counts is the limit. The words around a single count tell if it is one. */
function capNumbers({ numbers }: Statement): Reading["numbers"] {
  const [smallest, ...more] = countsOf(numbers);
  const isLimit = smallest !== undefined && (more.length > 0 || isBound(smallest));
  return isLimit ? { outputLimit: smallest.value } : {};
}

const BOUND =
  /^(?:max|maximum|limit|window|context|ctx|most|only|than|beyond|above|exceeds?|exceeded|exceeding|not|within|up|supports?|supported|allowed|allows|accepts|takes|permitted)$/;

/** One of these right before a number makes it a limit. */
const BOUND_BEFORE = /^(?:max|maximum|limit|most|only|than|beyond|above|exceeds?|exceeding|up)$/;
/** Follows a number that is itself too large: "N tokens exceed …", "N is longer than …", "N do not fit". */
const EXCEEDS =
  /^(?:tokens? )?(?:exceeds?|exceeding|surpass(?:es)?|overflows?|(?:(?:which|that) )?(?:is|are|was|were) (?:above|over|beyond|too|\w+er|more)|(?:do|does|did|can|could|will) ?not|(?:cannot|cant|dont|doesnt|didnt|wont))\b/;

/** "Over the limit of N", "N maximum", "no more than N tokens"; not "exceeded by N", nor "N tokens in your prompt". */
function isBound({ before, after }: NumberToken): boolean {
  if (/^(?:by|exceeded|exception|has|have|had|contains?|got|given|received|sent)$/.test(before[0] ?? ""))
    return false;
  const isFollowed = after.slice(0, 3).some((word) => BOUND.test(word));
  const [nearest] = before.slice(0, 5).filter((word) => BOUND.test(word) || /^your?$/.test(word));
  if (/^your?$/.test(nearest ?? "")) return false;
  if (before.slice(0, 3).some((word) => BOUND_BEFORE.test(word)) && before[0] !== "with") return true;
  if (EXCEEDS.test(after.join(" ")) || /^(?:input|prompt)$/.test(after[0] ?? "")) return false;
  return isFollowed || (nearest !== undefined && before[0] !== "with");
}
