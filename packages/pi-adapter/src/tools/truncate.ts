import { MAX_RESULT_BYTES, MAX_RESULT_LINES } from "@bonsai-agent/agent";
import { textHead } from "@bonsai-agent/messages";

/** Limits of a tool's output for a model. */
export const DEFAULT_MAX_LINES = MAX_RESULT_LINES;
export const DEFAULT_MAX_BYTES = MAX_RESULT_BYTES;

interface TruncationOptions {
  /** Default 2,000. */
  maxLines?: number;
  /** Default 50 KB. */
  maxBytes?: number;
}

interface TruncationResult {
  content: string;
  truncated: boolean;
  /** The limit that was reached first. */
  truncatedBy: "lines" | "bytes" | null;
  totalLines: number;
  totalBytes: number;
  outputLines: number;
  outputBytes: number;
  /** The output begins within a line that is too long. */
  lastLinePartial: boolean;
  /** The output is empty, because the first line alone is too long. */
  firstLineExceedsLimit: boolean;
  maxLines: number;
  maxBytes: number;
}

/** The beginning of a text: whole lines within both limits. */
export function truncateHead(content: string, options: TruncationOptions = {}): TruncationResult {
  const lines = content.split("\n");
  const { maxBytes = DEFAULT_MAX_BYTES } = options;
  const kept = fitting(lines, options);
  const firstLineExceedsLimit = kept.length === 0 && Buffer.byteLength(lines[0]!) > maxBytes;
  return resultOf(content, kept, { ...options, firstLineExceedsLimit });
}

/** The end of a text: whole lines within both limits, or the end of the last line if it alone is too long. */
export function truncateTail(content: string, options: TruncationOptions = {}): TruncationResult {
  const lines = content.split("\n");
  const { maxBytes = DEFAULT_MAX_BYTES } = options;
  const kept = fitting(lines.toReversed(), options).reverse();
  if (kept.length > 0 || options.maxLines === 0) return resultOf(content, kept, options);
  return resultOf(content, [endOf(lines.at(-1)!, maxBytes)], { ...options, lastLinePartial: true });
}

/** One line, cut at `maxChars` characters with a mark. */
export function truncateLine(line: string, maxChars = 500): { text: string; wasTruncated: boolean } {
  if (line.length <= maxChars) return { text: line, wasTruncated: false };
  return { text: `${textHead(line, maxChars)}... [truncated]`, wasTruncated: true };
}

/** A size for people: `812B`, `4.2KB`, `1.5MB`. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

/** The first lines that both limits allow. */
function fitting(lines: readonly string[], options: TruncationOptions): string[] {
  const { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES } = options;
  let bytes = 0;
  const beyond = lines.findIndex((line, at) => {
    bytes += Buffer.byteLength(line) + (at === 0 ? 0 : 1);
    return at === maxLines || bytes > maxBytes;
  });
  return beyond === -1 ? [...lines] : lines.slice(0, beyond);
}

function resultOf(
  text: string,
  kept: readonly string[],
  known: TruncationOptions & Partial<TruncationResult>,
): TruncationResult {
  const { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES, ...flags } = known;
  const content = kept.join("\n");
  const totalLines = text.split("\n").length;
  const truncated = kept.length < totalLines || flags.lastLinePartial === true;
  return {
    content,
    truncated,
    truncatedBy: !truncated ? null : kept.length === maxLines ? "lines" : "bytes",
    totalLines,
    totalBytes: Buffer.byteLength(text),
    outputLines: kept.length,
    outputBytes: Buffer.byteLength(content),
    ...{ lastLinePartial: false, firstLineExceedsLimit: false, maxLines, maxBytes, ...flags },
  };
}

function endOf(line: string, maxBytes: number): string {
  const bytes = Buffer.from(line);
  let start = Math.max(0, bytes.length - maxBytes);
  // A character in UTF-8 begins with a byte that is no continuation.
  while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start).toString();
}
