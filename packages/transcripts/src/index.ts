export { type ExportedSession, exportMarkdown, type MarkdownOptions } from "./export-markdown.ts";
export { type DetectedTranscript, detectTranscript, importedFrom, type TranscriptFormat } from "./formats.ts";
export {
  type ImportedSession,
  type ImportOptions,
  type ImportReport,
  type ImportResult,
  importTranscript,
} from "./import-transcript.ts";
export { type CodeBlock, codeBlocks } from "./markdown-text.ts";
export type { ImportNotice, NoticeKind } from "./notices.ts";
