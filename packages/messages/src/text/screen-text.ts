// How numbers, sizes, costs, durations, times, paths and lines read on every screen. Pure, so that the page can use it in a
// browser. JSON keeps plain numbers and ISO 8601.

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** 1234567 as `1,234,567`; `?` for what is no number. */
export function count(value: number): string {
  return Number.isFinite(value) ? grouped.format(value) : "?";
}

/** `1 entry`, `1,018 entries`. */
export function counted(value: number, singular: string, plural = `${singular}s`): string {
  return `${count(value)} ${value === 1 ? singular : plural}`;
}

/** A share of a whole, as `12%`: a part above nothing is never `0%`, a part below the whole never `100%`. */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return "0%";
  const rounded = Math.round((part / whole) * 100);
  if (rounded === 0) return "<1%";
  return rounded === 100 && part < whole ? ">99%" : `${rounded}%`;
}

/** A number of tokens: `12,345`; `~12,345` if it or a part of it is an estimate. */
export function tokenDigits(tokens: number, isEstimate: boolean): string {
  return Number.isFinite(tokens) ? `${isEstimate ? "~" : ""}${count(Math.round(tokens))}` : "?";
}

/** The same with its unit: `12,345 tokens`, `~1 token`. */
export function tokensText(tokens: number, isEstimate: boolean): string {
  return `${tokenDigits(tokens, isEstimate)} token${tokens === 1 ? "" : "s"}`;
}

/** Tokens in few columns: `950`, `9.5k`, `41k`, `1M`, `1.2M`; `?` if unknown. */
export function shortTokens(tokens: number | null): string {
  if (tokens === null || !Number.isFinite(tokens)) return "?";
  if (tokens < 999.5) return String(Math.round(tokens));
  const isThousands = tokens < 999_500;
  const scaled = tokens / (isThousands ? 1_000 : 1_000_000);
  const digits = scaled < 9.95 ? scaled.toFixed(1).replace(/\.0$/, "") : scaled.toFixed(0);
  return `${digits}${isThousands ? "k" : "M"}`;
}

/** Bytes as `812 bytes`, `974 kB` or `4.6 MB`, in powers of ten. */
export function bytes(value: number): string {
  const units = ["kB", "MB", "GB", "TB"];
  const whole = Math.round(value);
  if (whole < 1_000) return counted(whole, "byte");
  let unit = 0;
  let scaled = whole / 1_000;
  while (scaled >= 999.5 && unit < units.length - 1) {
    scaled /= 1_000;
    unit += 1;
  }
  return `${scaled.toFixed(scaled >= 99.95 ? 0 : 1).replace(/\.0$/, "")} ${units[unit]}`;
}

/** US dollars: to the cent from ten cents on, finer below; `?` for what is no number. */
export function usdText(usd: number): string {
  return Number.isFinite(usd) ? usdIn(usd, usdDigits(usd)) : "?";
}

/** Parts of a sum of US dollars, as fine as `usdText` writes the sum; rounded so that they add up to it. */
export function usdColumn(parts: readonly number[], total: number): string[] {
  const digits = usdDigits(total);
  const unit = 10 ** digits;
  const exact = parts.map((part) => part * unit);
  const units = exact.map(Math.floor);
  const left = Math.round(Number(total.toFixed(digits)) * unit) - units.reduce((sum, each) => sum + each, 0);
  const byLoss = exact.map((_, at) => at).sort((one, other) => (exact[other]! % 1) - (exact[one]! % 1));
  for (const at of byLoss.slice(0, Math.max(0, left))) units[at]! += 1;
  return units.map((each) => usdIn(each / unit, digits));
}

/** Down to a hundredth of a cent where it is little. */
function usdDigits(usd: number): number {
  return usd < 0.1 ? 4 : 2;
}

function usdIn(usd: number, digits: number): string {
  return usd === 0 ? "$0" : `$${usd.toFixed(digits).replace(/\B(?=(\d{3})+\.)/g, ",")}`;
}

/** A length of time in at most two units: `0.3 s`, `14 s`, `2 min 10 s`, `2 h 5 min`, `3 days 4 h`. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return "?";
  const tenths = Math.max(0, Math.round(ms / 100)) / 10;
  if (tenths < 10) return `${tenths} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return inTwo(`${minutes} min`, seconds % 60, "s");
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return inTwo(`${hours} h`, minutes % 60, "min");
  return inTwo(counted(Math.floor(hours / 24), "day"), hours % 24, "h");
}

function inTwo(first: string, value: number, unit: string): string {
  return value === 0 ? first : `${first} ${value} ${unit}`;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** A moment in the reader's time zone: `14:02` today, `24 Nov, 14:02` this year, else `24 Nov 2025, 14:02`; `?` if unknown. */
export function moment(ms: number, nowMs: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return "?";
  const now = new Date(nowMs);
  const time = [date.getHours(), date.getMinutes()].map((part) => String(part).padStart(2, "0")).join(":");
  if (date.toDateString() === now.toDateString()) return time;
  const year = date.getFullYear() === now.getFullYear() ? "" : ` ${date.getFullYear()}`;
  return `${date.getDate()} ${MONTHS[date.getMonth()]}${year}, ${time}`;
}

/** A part of a line. The parts follow each other as they are, with nothing between them. */
export interface LinePart {
  readonly text: string;
  /** A path: its end says more than its beginning. Default: false. */
  readonly isPath?: boolean;
}

/**
 * The parts as one text of at most `maxChars` characters. Paths lose folders from their beginning first. If the text is
 * still too long, it ends at a word's end, if one is near, and in `…`.
 */
export function lineText(parts: readonly LinePart[], maxChars: number): string {
  const texts = parts.map(({ text }) => text);
  let over = texts.reduce((sum, text) => sum + text.length, -maxChars);
  for (let at = parts.findLastIndex(({ isPath }) => isPath === true); at >= 0 && over > 0; at -= 1) {
    if (parts[at]!.isPath !== true) continue;
    const shown = fitPath(texts[at]!, Math.max(MIN_PATH_CHARS, texts[at]!.length - over));
    over -= texts[at]!.length - shown.length;
    texts[at] = shown;
  }
  const text = texts.join("");
  const characters = [...text.slice(0, 2 * maxChars + 2)];
  if (characters.length <= maxChars) return characters.join("");
  const cut = characters.slice(0, maxChars - 1).join("");
  const end = /\s/.test(characters[maxChars - 1]!) ? cut.length : cut.search(/\s+\S*$/);
  return `${(end > cut.length / 2 ? cut.slice(0, end) : cut).trimEnd()}…`;
}

/** A shorter path says too little. */
const MIN_PATH_CHARS = 24;
const MIN_NAME_COLUMNS = 8;

/**
 * `…/chat/tool-block.ts`: as many of the last folders as fit; of a long name its end.
 * @param width of a text. Default: its length
 */
export function fitPath(
  path: string,
  maxWidth: number,
  width: (text: string) => number = ({ length }) => length,
): string {
  const names = path.split(/(?<=[/\\])/);
  let shown = path;
  for (let from = 1, start = 0; from < names.length && width(shown) > maxWidth; from += 1) {
    start += names[from - 1]!.length;
    shown = `…${path.slice(start - 1)}`;
  }
  if (width(shown) > maxWidth && maxWidth >= MIN_NAME_COLUMNS) return endOf(shown, maxWidth, width);
  return width(shown) < width(path) ? shown : path;
}

function endOf(text: string, maxWidth: number, width: (text: string) => number): string {
  const characters = [...text];
  while (width(characters.join("")) >= maxWidth) characters.shift();
  return `…${characters.join("")}`;
}
