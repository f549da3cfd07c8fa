export { writeSessionFile } from "@bonsai-agent/session";
export { type DetectedTranscript, detectTranscript, type TranscriptFormat } from "./detect.ts";
export { IMPORT_CUSTOM_TYPE } from "./entries.ts";
export { type ExportedSession, exportMarkdown, type MarkdownOptions } from "./export-markdown.ts";
export {
  type ImportedSession,
  type ImportOptions,
  type ImportReport,
  type ImportResult,
  importTranscript,
} from "./import-transcript.ts";
export type { ImportNotice, NoticeKind } from "./notices.ts";
export { redactSecrets } from "./redact.ts";
