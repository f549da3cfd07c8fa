/** Something about an open session that its user should know. */
export interface SessionNotice {
  readonly code: /** The session can be read only; appending throws `session_read_only`. */
    | "read_only"
    /** The last line was cut off; it stays, and the next append begins a line of its own. */
    | "torn_line"
    /** Somebody else appends to the same file. Their entries are branches of their own. */
    | "foreign_entries"
    /** Somebody deleted or replaced the file while it was open. It is written anew where that can be. */
    | "file_deleted"
    /** The file was cut off or overwritten while it was open; what was gone is written again. */
    | "entries_restored"
    /** That could not be done yet. */
    | "entries_lost"
    /** The file has an older format: the session goes on in a copy. */
    | "migrated_copy";
  readonly message: string;
}
