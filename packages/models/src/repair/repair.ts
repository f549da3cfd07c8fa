/** What was wrong in a history and would have been refused. */
export type RepairKind =
  | "damaged_content"
  | "unpaired_call"
  | "unpaired_result"
  | "misplaced_result"
  | "duplicate_result"
  | "empty_message"
  | "failed_answer"
  | "bound_thinking"
  | "lone_surrogate"
  | "call_id"
  | "image_not_supported"
  | "too_many_bytes"
  | "no_user_first";

/** One kind of repair in one request. */
export interface Repair {
  kind: RepairKind;
  /** How many messages or blocks were mended so. */
  count: number;
  /** One sentence for people. */
  detail: string;
}
