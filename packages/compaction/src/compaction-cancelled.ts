/** Thrown inside a compaction that somebody stopped: the user, or an extension. */
export class CompactionCancelled extends Error {
  constructor(why: string) {
    super(why);
    this.name = "CompactionCancelled";
  }
}
