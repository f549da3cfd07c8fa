import { readFileSync } from "node:fs";
import { type Fields, isFields } from "./fields.ts";
import { objectsOfLine } from "./line-objects.ts";
import type { NoticeLog } from "./notices.ts";

/** One object of a JSON Lines file. */
export interface JsonLine {
  /** Counted from 1; several objects can stand on one line. */
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
    const { values, isWhole } = objectsOfLine(bytes.toString("utf8", start, end));
    for (const value of values) if (isFields(value)) lines.push({ line, value });
    if (values.length > 1) notices.add("joined_records", line);
    if (!isWhole) notices.add(newline < 0 ? "torn_last_line" : "bad_line", line);
    start = end + 1;
  }
  return lines;
}
