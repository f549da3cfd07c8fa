/** What an import met on its way and how it dealt with it. */
export interface ImportNotice {
  /** Stable, snake_case. */
  kind: NoticeKind;
  message: string;
  /** How often it was met. */
  count: number;
  /** Lines of the transcript, counted from 1; the first 20. Empty where the source has no lines. */
  lines: number[];
}

/** One sentence for each kind, so that a kind cannot be met without saying what was done about it. */
const MESSAGES = {
  bad_line: "Lines (or files) that are no JSON objects were left out.",
  torn_last_line: "The last line is cut off (the other program was still writing) and was left out.",
  unknown_record: "Records of unknown types were left out.",
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
  image_not_stored: "Images and files that are only referred to became text markers.",
  cwd_unknown: "The transcript does not name its folder.",
  empty_messages: "Messages without content were left out.",
} as const;

export type NoticeKind = keyof typeof MESSAGES;

const LINES_KEPT = 20;

/** Collects notices, one for each kind. */
export class NoticeLog {
  readonly #byKind = new Map<NoticeKind, ImportNotice>();

  add(kind: NoticeKind, line?: number): void {
    const notice = this.#byKind.get(kind) ?? { kind, message: MESSAGES[kind], count: 0, lines: [] };
    this.#byKind.set(kind, notice);
    notice.count += 1;
    if (line !== undefined && notice.lines.length < LINES_KEPT) notice.lines.push(line);
  }

  all(): ImportNotice[] {
    return [...this.#byKind.values()];
  }
}
