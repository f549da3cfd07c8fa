import { tokenDigits, tokensText } from "@bonsai-agent/messages";

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** 1234567 as `1,234,567`; `?` for what is no number. */
export function count(value: number): string {
  return Number.isFinite(value) ? grouped.format(value) : "?";
}

/** The largest of the values, or `least`; for lists of any length, which a spread into `Math.max` is not. */
export function largest(values: Iterable<number>, least = 0): number {
  let largest = least;
  for (const value of values) if (value > largest) largest = value;
  return largest;
}

/** `1 entry`, `1,018 entries`. */
export function counted(value: number, singular: string, plural = `${singular}s`): string {
  return `${count(value)} ${value === 1 ? singular : plural}`;
}

/** A share of a whole, as `12%`; something that is not nothing is never `0%`, something missing never `100%`. */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return "0%";
  const rounded = Math.round((part / whole) * 100);
  if (rounded === 0) return "<1%";
  return rounded === 100 && part < whole ? ">99%" : `${rounded}%`;
}

/** Shares of a whole in whole numbers that add up to `sum`: what rounding down leaves goes to those that lost most by it. */
export function wholeShares(parts: readonly number[], sum = 100): number[] {
  const whole = parts.reduce((all, part) => all + part, 0);
  const exact = parts.map((part) => (whole > 0 ? (part / whole) * sum : 0));
  const shares = exact.map(Math.floor);
  let left = whole > 0 ? sum - shares.reduce((all, each) => all + each, 0) : 0;
  const byLoss = exact
    .map((each, at) => ({ at, lost: each % 1 }))
    .sort((one, other) => other.lost - one.lost);
  for (const { at } of byLoss) {
    if (left <= 0) break;
    shares[at]! += 1;
    left -= 1;
  }
  return shares;
}

/** The same, as `percent` writes them. With another sum, they are shares of a part of the whole. */
export function percents(parts: readonly number[], sum = 100): string[] {
  const whole = parts.reduce((all, part) => all + part, 0);
  return wholeShares(parts, sum).map((share, at) => {
    if (share === 0 && parts[at]! > 0) return "<1%";
    return sum === 100 && share === 100 && parts[at]! < whole ? ">99%" : `${share}%`;
  });
}

export { tokenDigits, tokensText, usdText as usd } from "@bonsai-agent/messages";

/** A number of tokens, and how much of it is an estimate. */
export interface TokenSize {
  tokens: number;
  estimatedTokens: number;
}

/** True for a size that is marked as an estimate: a sum with an estimated part is one. */
export function hasEstimate({ estimatedTokens }: Pick<TokenSize, "estimatedTokens">): boolean {
  return estimatedTokens > 0;
}

/** `12,345 tokens`, as a provider reported it; `~12,345 tokens` with an estimated part. */
export function sizeText(size: TokenSize): string {
  return tokensText(size.tokens, hasEstimate(size));
}

/** Where a size is known from: what a provider reported, what was estimated since, or estimates alone. */
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

/** What a compaction made of a context. */
interface SizeChange {
  tokensBefore: number;
  /** The estimated part of it; null where nobody recorded that. */
  estimatedTokensBefore: number | null;
  /** Always an estimate: nobody has reported it yet. */
  tokensAfter: number;
}

/** `123,456 → ~20,000 tokens`. */
export function sizeChange({ tokensBefore, estimatedTokensBefore, tokensAfter }: SizeChange): string {
  const isEstimate = (estimatedTokensBefore ?? 0) > 0;
  return `${tokenDigits(tokensBefore, isEstimate)} → ${tokensText(tokensAfter, true)}`;
}

/**
 * What a size is of, where no part of it says so: system prompt and tools are in every request, but not always known.
 * @param size.fixedTokens what is known beside the messages
 */
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

/** Bytes as `974 kB`, in powers of ten. */
export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let scaled = value;
  while (scaled >= 999.5 && unit < units.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${scaled.toFixed(unit === 0 || scaled >= 99.95 ? 0 : 1)} ${units[unit]}`;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const ages: ReadonlyArray<readonly [ms: number, name: string]> = [
  [365.25 * dayMs, "year"],
  [30.44 * dayMs, "month"],
  [dayMs, "day"],
  [hourMs, "hour"],
  [minuteMs, "minute"],
];

/** How long ago a time was, in its largest unit; `?` for a time that cannot be read. */
export function age(thenMs: number, nowMs: number): string {
  if (Number.isNaN(thenMs)) return "?";
  const span = duration(nowMs - thenMs);
  return span === "" ? "just now" : `${span} ago`;
}

/** A length of time in its largest unit, as `16 hours`; empty below a minute. */
export function duration(ms: number): string {
  const unit = ages.find(([unitMs]) => ms >= unitMs);
  return unit === undefined ? "" : counted(Math.floor(ms / unit[0]), unit[1]);
}

/** A short length of time: `7s`, `1m 05s`, `2h 03m`. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number) => String(value).padStart(2, "0");
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${two(seconds % 60)}s`;
  return `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`;
}

/** A time as `2025-11-20 14:02`, in UTC. */
export function moment(ms: number): string {
  return Number.isNaN(ms) ? "?" : new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}

/** A time in the user's time zone: `14:02` for today, else `2025-11-20 14:02`. */
export function localTime(ms: number, nowMs = Date.now()): string {
  const date = new Date(ms);
  const time = date.toTimeString().slice(0, 5);
  if (date.toDateString() === new Date(nowMs).toDateString()) return time;
  const [year, month, day] = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return `${year}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")} ${time}`;
}

/** Tokens in few columns: `950`, `9.5k`, `41k`, `1M`, `1.2M`; `?` where nobody knows. */
export function shortTokens(tokens: number | null): string {
  if (tokens === null || !Number.isFinite(tokens)) return "?";
  if (tokens < 999.5) return String(Math.round(tokens));
  const isThousands = tokens < 999_500;
  const scaled = tokens / (isThousands ? 1_000 : 1_000_000);
  const digits = scaled < 9.95 ? scaled.toFixed(1).replace(/\.0$/, "") : scaled.toFixed(0);
  return `${digits}${isThousands ? "k" : "M"}`;
}

const dollars = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 4 });

/** US dollars per million tokens. */
export function price(value: number | undefined): string {
  return value === undefined ? "–" : dollars.format(value);
}
