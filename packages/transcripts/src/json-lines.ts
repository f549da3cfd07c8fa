import { readFileSync } from "node:fs";
import { type Fields, isFields } from "./fields.ts";
import type { NoticeLog } from "./notices.ts";

/** One line of a JSON Lines file. */
export interface JsonLine {
  /** Counted from 1. */
  line: number;
  value: Fields;
}

const NEWLINE = 0x0a;

/**
 * The objects of a JSON Lines file in order. Blank lines are passed over; lines that are no objects
 * are noticed. Works on bytes, so that one huge line is decoded once and not searched again and again.
 */
export function readJsonLines(path: string, notices: NoticeLog): JsonLine[] {
  const bytes = readFileSync(path);
  const lines: JsonLine[] = [];
  let line = 0;
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    line += 1;
    const value = parsed(bytes.subarray(start, end));
    if (isFields(value)) lines.push({ line, value });
    else if (value !== undefined) notices.add(newline < 0 ? "torn_last_line" : "bad_line", line);
    start = end + 1;
  }
  return lines;
}

/** The value of a line; undefined for a blank one, null for one that is no JSON. */
function parsed(bytes: Buffer): unknown {
  try {
    // A file that was extended over a crash can be padded with NULs.
    const text = bytes
      .toString("utf8")
      .replace(/^\uFEFF/, "")
      .replaceAll("\0", "")
      .trim();
    return text === "" ? undefined : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return null;
    throw error;
  }
}
