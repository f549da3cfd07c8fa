/** A problem of an import and its handling. */
export interface ImportNotice {
  /** Stable, snake_case. */
  kind: NoticeKind;
  message: string;
  /** Number of occurrences. */
  count: number;
  /** Lines of the transcript, counted from 1; the first 20. Empty where the source has no lines. */
  lines: number[];
  /** Ids of records, or paths of files, where the source has no lines; the first 20. */
  records: string[];
}

/** A place in a transcript: a line, or without lines a record's id or a file's path. */
export type SourcePlace = number | string;

/** One sentence for each kind. */
const MESSAGES = {
  bad_line: "Skipped lines or files that are not JSON objects.",
  torn_last_line: "Skipped the last line: it is incomplete because the other program was still writing.",
  unknown_record: "Skipped records of unknown types.",
  joined_records: "Some lines contain several records. All of them were read.",
  duplicate_record: "Repeated records were read only once.",
  reattached: "Children of a repeated record were placed after the last new record.",
  missing_parent: "Records with a missing parent were placed after the previous record.",
  parent_cycle: "Records that were their own ancestors were placed after an earlier record.",
  result_missing: "Tool calls without a result got a placeholder result.",
  call_missing: "Tool results without a call were kept as notes.",
  unreadable: "Encrypted items are unreadable. They are stored unchanged, and the model does not see them.",
  unreadable_compaction: "A compaction is encrypted. The messages before it were imported in full.",
  summary_missing: "A compaction without its summary was imported with a placeholder.",
  failed_compaction: "Skipped unfinished compactions.",
  compaction_restated: "Messages copied by a compaction appear again after its summary.",
  rewound: "Rewound parts became branches.",
  branches: "The transcript has several branches. The latest one is current.",
  sub_agent: "This is the transcript of a sub-agent.",
  sub_agents_apart: "Messages of sub-agents are not part of the main session.",
  forked: "The transcript is a fork. It contains only a part of the original session.",
  queued_messages: "Messages typed while the agent worked appear where the agent received them.",
  queue_left: "Queued but undelivered messages became notes that the model does not see.",
  event_prompts: "Some prompts existed only in event records and were imported from them.",
  cancelled_turns: "Cancelled turns are marked as aborted.",
  program_answers: "Answers that the program wrote without a model became notes.",
  usage_apart: "Usage of requests without a visible answer is counted separately.",
  counts_restarted: "The token counts restarted in the middle. All parts are counted.",
  image_not_stored: "Images and files that are not stored became text markers.",
  cwd_unknown:
    "The transcript names no project folder. To add the session to a project, run `bonsai session import FILE --cwd FOLDER`.",
  empty_messages: "Skipped messages without content.",
} as const;

export type NoticeKind = keyof typeof MESSAGES;

const PLACES_KEPT = 20;

/** Collects notices, one for each kind. */
export class NoticeLog {
  /** The reader's current place, for notices without one. */
  place: SourcePlace | undefined;
  readonly #byKind = new Map<NoticeKind, ImportNotice>();

  add(kind: NoticeKind, place = this.place): void {
    const notice = this.#byKind.get(kind) ?? {
      kind,
      message: MESSAGES[kind],
      count: 0,
      lines: [],
      records: [],
    };
    this.#byKind.set(kind, notice);
    notice.count += 1;
    const places: SourcePlace[] = typeof place === "string" ? notice.records : notice.lines;
    if (place !== undefined && places.length < PLACES_KEPT) places.push(place);
  }

  all(): ImportNotice[] {
    return [...this.#byKind.values()];
  }
}
