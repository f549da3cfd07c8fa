/** What `bonsai goto --json` prints. */
export interface GotoReport {
  /** The position now; with a summary, the summary. */
  leafId: string | null;
  previousLeafId: string | null;
  /** The text of the user message that was chosen: to be written anew. */
  editorText?: string;
  summaryEntryId?: string;
}
