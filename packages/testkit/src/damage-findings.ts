import type { ProblemKind } from "@bonsai-agent/session";
import type { DamageName } from "./damaged-sessions.ts";

/** What is found in each damaged file; or the code of the error, for one that is no session. */
export const damageFindings: Readonly<
  Record<DamageName, readonly ProblemKind[] | "session_empty" | "not_a_session">
> = {
  "torn last line": ["torn_line"],
  "garbage line with descendants": ["damaged_line", "missing_parent"],
  "missing parent": ["missing_parent"],
  "duplicate id": ["duplicate_id"],
  "id reused by its own descendant": ["duplicate_id"],
  cycle: ["cycle"],
  "entry that is its own parent": ["cycle"],
  "parent after its child": ["late_parent"],
  "damaged header": ["damaged_header"],
  "second header": ["not_an_entry"],
  "compaction without summary": ["missing_summary"],
  "unknown type": [],
  "message entry without message": ["missing_message"],
  "message without content": [],
  "number as a line": ["not_an_entry"],
  "array as a line": ["not_an_entry"],
  "entry without id": ["missing_id", "missing_parent"],
  "future version": [],
  "invalid UTF-8": ["invalid_utf8"],
  "NUL tail": ["nul_bytes"],
  CRLF: [],
  "byte-order mark": ["byte_order_mark"],
  "compaction that keeps a missing entry": ["missing_kept_entry"],
  "several roots": [],
  empty: "session_empty",
  "header alone": [],
  "header without newline": [],
  "entries without header": ["damaged_header"],
  "no session at all": "not_a_session",
  "binary file": "not_a_session",
};
