import { counted, duration, tokenDigits, tokensText } from "@bonsai-agent/messages/numbers";

export {
  bytes,
  count,
  counted,
  duration,
  moment,
  percent,
  shortTokens,
  tokenDigits,
  tokensText,
  usdText as usd,
} from "@bonsai-agent/messages/numbers";

/** A running clock, in whole seconds. */
export function elapsed(ms: number): string {
  return duration(Math.max(0, Math.floor(ms / 1_000)) * 1_000);
}

/** The percentages of parts of a whole; they add up to `sum`. The parts that rounding down costs most are rounded up. */
export function percents(parts: readonly number[], sum = 100): string[] {
  const whole = parts.reduce((all, part) => all + part, 0);
  if (whole === 0) return parts.map(() => "0%");
  const exact = parts.map((part) => (part / whole) * sum);
  const left = sum - exact.reduce((all, share) => all + Math.floor(share), 0);
  const byLoss = exact.map((share, at) => ({ at, loss: share % 1 })).sort((a, b) => b.loss - a.loss);
  const roundedUp = new Set(byLoss.slice(0, left).map(({ at }) => at));
  return exact.map((share, at) => {
    const rounded = Math.floor(share) + (roundedUp.has(at) ? 1 : 0);
    if (rounded === 0 && share > 0) return "<1%";
    return rounded === 100 && share < 100 ? ">99%" : `${rounded}%`;
  });
}

const prices = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 4 });

/** US dollars per million tokens, without a sign. */
export function price(value: number | undefined): string {
  return value === undefined ? "–" : prices.format(value);
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const AGES: ReadonlyArray<readonly [ms: number, name: string]> = [
  [365.25 * DAY_MS, "year"],
  [30.44 * DAY_MS, "month"],
  [DAY_MS, "day"],
  [HOUR_MS, "hour"],
  [MINUTE_MS, "minute"],
];

/** The time since a moment in its largest unit: `16 hours ago`, `just now`; `?` if the moment is unknown. */
export function age(thenMs: number, nowMs: number): string {
  if (Number.isNaN(thenMs)) return "?";
  const span = largestUnit(nowMs - thenMs);
  return span === "" ? "just now" : `${span} ago`;
}

/** A length of time in its largest unit only: `16 hours`; empty below a minute. */
export function largestUnit(ms: number): string {
  const unit = AGES.find(([unitMs]) => ms >= unitMs);
  return unit === undefined ? "" : counted(Math.floor(ms / unit[0]), unit[1]);
}

/** The largest of the values, at least `least`. `Math.max` cannot take long lists. */
export function largest(values: Iterable<number>, least = 0): number {
  let largest = least;
  for (const value of values) if (value > largest) largest = value;
  return largest;
}

/** A number of tokens, and how much of it is an estimate. */
export interface TokenSize {
  tokens: number;
  estimatedTokens: number;
}

export function hasEstimate({ estimatedTokens }: Pick<TokenSize, "estimatedTokens">): boolean {
  return estimatedTokens > 0;
}

/** `12,345 tokens`, as a provider reported it; `~12,345 tokens` with an estimated part. */
export function sizeText(size: TokenSize): string {
  return tokensText(size.tokens, hasEstimate(size));
}

/** The source of a size: a provider's report, with what was estimated since, or estimates alone. */
export function sizeSource({
  tokens,
  estimatedTokens,
  isEstimate,
}: TokenSize & { isEstimate: boolean }): string {
  if (isEstimate) return tokens === 0 ? "" : "estimated";
  return estimatedTokens === 0
    ? "reported by the provider"
    : `reported by the provider, plus ${tokenDigits(estimatedTokens, true)} estimated since`;
}

/** The size of a context before and after a compaction. */
interface SizeChange {
  tokensBefore: number;
  /** Its estimated part; null if not recorded. */
  estimatedTokensBefore: number | null;
  tokensAfter: number;
  /** Its estimated part. Default: all of it. */
  estimatedTokensAfter?: number;
}

/** `123,456 → ~20,000 tokens`. */
export function sizeChange(change: SizeChange): string {
  const { tokensBefore, estimatedTokensBefore, tokensAfter, estimatedTokensAfter = tokensAfter } = change;
  const before = tokenDigits(tokensBefore, (estimatedTokensBefore ?? 0) > 0);
  return `${before} → ${tokensText(tokensAfter, estimatedTokensAfter > 0)}`;
}

/** Explains a size whose part for system prompt and tools is unknown. @param size.fixedTokens the known part */
export function scopeText({
  fixedTokens,
  isEstimate,
}: {
  fixedTokens: number;
  isEstimate: boolean;
}): string | undefined {
  if (fixedTokens > 0) return undefined;
  return isEstimate
    ? "Messages only: the size of the system prompt and tools is not known before the first answer."
    : "As reported by the provider, including system prompt and tools. Their share is unknown.";
}
