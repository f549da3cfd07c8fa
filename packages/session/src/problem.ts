/**
 * What is wrong in a session file.
 *
 * - `damaged_line`: no JSON object, or one that was cut off; its children hang on the nearest earlier entry.
 * - `torn_line`: the last line was cut off by a crash or a full disk.
 * - `nul_bytes`: a run of zero bytes, as a crash of the machine leaves behind.
 * - `not_an_entry`: valid JSON, but no object with a type and an id (`42`, `[]`, a second header).
 * - `damaged_header`: entries without a readable header before them.
 * - `byte_order_mark`: the file starts with one.
 * - `invalid_utf8`: bytes that are no UTF-8 (read as U+FFFD).
 * - `missing_parent`: the parent stands nowhere in the file; the entry hangs on the nearest earlier one.
 * - `late_parent`: the parent stands after its child.
 * - `cycle`: the entry is among its own ancestors; the link that closes the circle is not followed.
 * - `duplicate_id`: the id was used before; children mean the nearest earlier entry of that id.
 * - `missing_id`: an entry without an id; it is named after its line.
 * - `missing_message`: a message entry without a message; it is read as a `custom` entry `bonsai.lost`.
 * - `missing_summary`: a compaction or branch summary without a summary; it is read in the same way, and hides
 *   nothing.
 * - `odd_field`: a field of the header or of a known type of entry that holds something else than it should (a
 *   number for a name, a time that is none); it is read as if it held nothing.
 * - `missing_kept_entry`: a compaction whose first kept entry is not before it on its path; it keeps what
 *   the compaction before it kept.
 */
export type ProblemKind =
  | "damaged_line"
  | "torn_line"
  | "nul_bytes"
  | "not_an_entry"
  | "damaged_header"
  | "byte_order_mark"
  | "invalid_utf8"
  | "missing_parent"
  | "late_parent"
  | "cycle"
  | "duplicate_id"
  | "missing_id"
  | "missing_message"
  | "missing_summary"
  | "odd_field"
  | "missing_kept_entry";

/** One thing that is wrong in a session file, what reading makes of it, and what a repaired copy would do. */
export interface Problem {
  /** From 1, as an editor counts. */
  readonly line: number;
  readonly kind: ProblemKind;
  readonly entryId?: string;
  /** What was found. */
  readonly message: string;
  /** What a repaired copy does about it. */
  readonly repair: string;
}
