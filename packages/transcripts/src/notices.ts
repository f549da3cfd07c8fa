/** What an import met on its way and how it dealt with it. */
export interface ImportNotice {
  /** Stable, snake_case. */
  kind: NoticeKind;
  message: string;
  /** How often it was met. */
  count: number;
  /** Lines of the transcript, counted from 1; the first 20. Empty where the source has no lines. */
  lines: number[];
  /** Ids of records, or paths of files, where the source has no lines; the first 20. */
  records: string[];
}

/** Where something stands: the line of a file of lines, else a record's id or a file's path. */
export type SourcePlace = number | string;

/** One sentence for each kind, so that a kind cannot be met without saying what was done about it. */
const MESSAGES = {
  bad_line: "Lines (or files) that are no JSON objects were left out.",
  torn_last_line: "The last line is cut off (the other program was still writing) and was left out.",
  unknown_record: "Records of unknown types were left out.",
  joined_records: "Lines that hold several records were read record by record.",
  duplicate_record: "Records that the transcript repeats were read once.",
  reattached: "Records that hung on a repeated copy were put after the last new record instead.",
  missing_parent: "Records whose parent is not in the file were put after the record before them.",
  parent_cycle: "Records that were their own ancestors were cut loose.",
  result_missing: "Tool calls without a result were given a placeholder result.",
  call_missing: "Tool results without a call were kept as notes.",
  result_moved: "Tool results that came late were moved next to their calls.",
  unreadable: "Encrypted items cannot be read; they are kept as they are and not shown to the model.",
  unreadable_compaction:
    "A compaction is stored encrypted; the messages before it were imported in full instead.",
  summary_missing: "A compaction without its summary was imported with a placeholder.",
  failed_compaction: "Compactions that never finished were left out.",
  compaction_restated: "Messages that a compaction carried over stand again after its summary.",
  rewound: "Parts that were rewound are kept as branches.",
  branches: "The transcript has several branches; the one written last is current.",
  sub_agent: "This is the transcript of a sub-agent.",
  sub_agents_apart: "Sub-agents' messages are kept out of the main session.",
  forked: "The transcript is a fork of another; only what it repeats of that one is here.",
  queued_messages: "Messages that were typed while the agent worked stand where they were delivered.",
  queue_left: "Messages that were queued but not delivered are kept as notes that the model does not see.",
  event_prompts: "Prompts that only events have were taken from those.",
  cancelled_turns: "Turns that were cancelled are marked as aborted.",
  program_answers: "Answers that the program itself wrote in the model's name are kept as notes.",
  usage_apart: "Usage of requests that no answer shows is counted on its own.",
  counts_restarted: "The counts of used tokens began anew in the middle; each part is counted.",
  image_not_stored: "Images and files that are only referred to became text markers.",
  cwd_unknown:
    "The transcript names no folder, or the root: `bonsai import FILE --cwd FOLDER` puts the session where its project is, so that it is found from there.",
  empty_messages: "Messages without content were left out.",
} as const;

export type NoticeKind = keyof typeof MESSAGES;

const PLACES_KEPT = 20;

/** Collects notices, one for each kind. */
export class NoticeLog {
  /** Where the reader is: the place of what is noticed without one. */
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
