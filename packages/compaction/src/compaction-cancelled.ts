/** Thrown inside a compaction that somebody stopped: the user, or an extension. */
export class CompactionCancelled extends Error {
  /** The extension that stopped it; undefined for the user. */
  readonly by: string | undefined;

  constructor(why: string, by?: string) {
    super(why);
    this.name = "CompactionCancelled";
    this.by = by;
  }
}
