/** What `bonsai goto --json` prints. */
export interface GotoReport {
  /** Only where it did not happen. */
  status?: "cancelled";
  /** The position now; with a summary, the summary. */
  leafId: string | null;
  previousLeafId: string | null;
  /** The text of the user message that was chosen: to be written anew. */
  editorText?: string;
  summaryEntryId?: string;
  /** The extension whose summary it is, or that did not let it happen. */
  decidedBy?: string;
}
