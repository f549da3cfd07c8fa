/** Tells the user of an open session something. The reference of notices describes the codes. */
export interface SessionNotice {
  readonly code:
    | "read_only"
    | "torn_line"
    | "damaged_lines"
    | "foreign_entries"
    | "restored_copy"
    | "entries_lost"
    | "migrated_copy";
  readonly message: string;
}

/** The notices of an open session, oldest first, each code at most once. */
export class SessionNotices {
  readonly #notices: SessionNotice[] = [];
  readonly #onNotice: ((notice: SessionNotice) => void) | undefined;

  constructor(onNotice?: (notice: SessionNotice) => void) {
    this.#onNotice = onNotice;
  }

  get list(): readonly SessionNotice[] {
    return this.#notices;
  }

  readOnly(message: string): void {
    this.#notify({
      /** The file is read-only or of a newer version. An append throws `session_read_only`. */
      code: "read_only",
      message,
    });
  }

  tornLine(): void {
    this.#notify({
      code: "torn_line",
      message:
        "The last line of the session file is incomplete and is ignored. All earlier lines are complete.",
    });
  }

  migratedCopy(files: { original: string | undefined; copy: string | undefined; isEarlier: boolean }): void {
    const { original = "The session", copy = "a copy", isEarlier } = files;
    const before = isEarlier ? ", which an earlier run created" : "";
    this.#notify({
      /** The file has an older format and stays unchanged. The session continues in a copy. */
      code: "migrated_copy",
      message: `${original} has an older format and stays unchanged. The session continues in ${copy}${before}.`,
    });
  }

  restoredCopy(original: string | undefined, copy: string | undefined): void {
    this.#notify({
      /** Another program cut off, replaced or deleted the open session file. The session continues in a copy. */
      code: "restored_copy",
      message: `Another program cut off, replaced or deleted ${original} while it was open. The session continues in ${copy}.`,
    });
  }

  entriesLost(file: string | undefined, error: Error): void {
    this.#notify({
      /** The open session file lost entries, and no copy with them can be written. The next append tries again. */
      code: "entries_lost",
      message: `Another program cut off, replaced or deleted ${file} while it was open. ${error.message} The next entry tries again.`,
    });
  }

  foreignEntries(file = "this session"): void {
    this.#notify({
      code: "foreign_entries",
      message: `Another process also writes to ${file}. Its entries form separate branches.`,
    });
  }

  /** @param count number of damaged lines; 0 if only entries are missing */
  damagedLines(count: number, file = "FILE"): void {
    const lines = count === 1 ? "1 line of the session file is" : `${count} lines of the session file are`;
    const damage = count === 0 ? "Entries are missing from the session file." : `${lines} damaged.`;
    const argument = /\s/.test(file) ? `"${file}"` : file;
    const message = `${damage} Messages may be missing from the conversation. Run \`bonsai session doctor ${argument}\` to list the damage.`;
    this.#notify({ code: "damaged_lines", message });
  }

  #notify(notice: SessionNotice): void {
    if (this.#notices.some(({ code }) => code === notice.code)) return;
    this.#notices.push(notice);
    this.#onNotice?.(notice);
  }
}
