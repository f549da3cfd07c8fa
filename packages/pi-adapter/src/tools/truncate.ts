import { textHead } from "@bonsai-agent/messages";
/** Limits of a tool's output that goes to a model. */
export const DEFAULT_MAX_LINES = 2_000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
/** Characters of one line of search results. */
export const GREP_MAX_LINE_LENGTH = 500;

interface TruncationOptions {
  /** Default 2,000. */
  maxLines?: number;
  /** Default 50 KB. */
  maxBytes?: number;
}

export interface TruncationResult {
  content: string;
  truncated: boolean;
  /** The limit that was reached first. */
  truncatedBy: "lines" | "bytes" | null;
  totalLines: number;
  totalBytes: number;
  outputLines: number;
  outputBytes: number;
  /** The first line of the output is the end of a line that alone was too long. */
  lastLinePartial: boolean;
  /** Nothing is left, for the first line alone was too long. */
  firstLineExceedsLimit: boolean;
  maxLines: number;
  maxBytes: number;
}

/** The beginning of a text: whole lines within both limits. */
export function truncateHead(content: string, options: TruncationOptions = {}): TruncationResult {
  const text = new Measured(content, options);
  const kept = text.fitting(text.lines);
  const firstLineExceedsLimit = kept.length === 0 && byteLength(text.lines[0]!) > text.maxBytes;
  return text.result(kept, { firstLineExceedsLimit });
}

/** The end of a text: whole lines within both limits, or the end of the last one where it alone is too long. */
export function truncateTail(content: string, options: TruncationOptions = {}): TruncationResult {
  const text = new Measured(content, options);
  const kept = text.fitting(text.lines.toReversed()).reverse();
  if (kept.length > 0 || text.maxLines === 0) return text.result(kept);
  return text.result([endOf(text.lines.at(-1)!, text.maxBytes)], { lastLinePartial: true });
}

/** One line, cut at `maxChars` characters with a mark. */
export function truncateLine(
  line: string,
  maxChars = GREP_MAX_LINE_LENGTH,
): { text: string; wasTruncated: boolean } {
  if (line.length <= maxChars) return { text: line, wasTruncated: false };
  return { text: `${textHead(line, maxChars)}... [truncated]`, wasTruncated: true };
}

/** A size for people: `812B`, `4.2KB`, `1.5MB`. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

/** A text with its size, and the limits that it is held against. */
class Measured {
  readonly content: string;
  readonly lines: string[];
  readonly totalBytes: number;
  readonly maxLines: number;
  readonly maxBytes: number;

  constructor(content: string, { maxLines, maxBytes }: TruncationOptions) {
    this.content = content;
    this.lines = content.split("\n");
    this.totalBytes = byteLength(content);
    this.maxLines = maxLines ?? DEFAULT_MAX_LINES;
    this.maxBytes = maxBytes ?? DEFAULT_MAX_BYTES;
  }

  /** The first of these lines, as many as both limits allow. */
  fitting(lines: readonly string[]): string[] {
    let bytes = 0;
    const beyond = lines.findIndex((line, at) => {
      bytes += byteLength(line) + (at === 0 ? 0 : 1);
      return at === this.maxLines || bytes > this.maxBytes;
    });
    return beyond === -1 ? [...lines] : lines.slice(0, beyond);
  }

  result(
    kept: readonly string[],
    flags: Partial<Pick<TruncationResult, "lastLinePartial" | "firstLineExceedsLimit">> = {},
  ): TruncationResult {
    const content = kept.join("\n");
    const truncated = kept.length < this.lines.length || flags.lastLinePartial === true;
    const byLines = truncated && kept.length === this.maxLines;
    return {
      content,
      truncated,
      truncatedBy: !truncated ? null : byLines ? "lines" : "bytes",
      totalLines: this.lines.length,
      totalBytes: this.totalBytes,
      outputLines: kept.length,
      outputBytes: byteLength(content),
      lastLinePartial: false,
      firstLineExceedsLimit: false,
      maxLines: this.maxLines,
      maxBytes: this.maxBytes,
      ...flags,
    };
  }
}

function endOf(line: string, maxBytes: number): string {
  const bytes = Buffer.from(line);
  let start = Math.max(0, bytes.length - maxBytes);
  // A character in UTF-8 begins with a byte that is no continuation.
  while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start).toString();
}

function byteLength(text: string): number {
  return Buffer.byteLength(text);
}
