export { type ExportedSession, exportMarkdown, type MarkdownOptions } from "./export-markdown.ts";
export { type DetectedTranscript, detectTranscript, importedFrom, type TranscriptFormat } from "./formats.ts";
export type { ImportNotice, NoticeKind } from "./import/notices.ts";
export {
  type ImportedSession,
  type ImportOptions,
  type ImportReport,
  type ImportResult,
  importTranscript,
} from "./import-transcript.ts";
export { type CodeBlock, codeBlocks } from "./markdown/text.ts";
