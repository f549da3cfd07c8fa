export { type CompactionSpan, compactionSpans } from "./compaction-spans.ts";
export { exportMarkdown } from "./export-markdown.ts";
export { detectTranscript, importedFrom } from "./formats.ts";
export { type ImportedSession, type ImportResult, importTranscript } from "./import-transcript.ts";
export { codeBlocks } from "./markdown/text.ts";
export { type CurrentSpan, type ReadPlace, readCurrentSpan, type TailFormat } from "./tail.ts";
export { findTranscripts, type TranscriptAgent, type TranscriptFile } from "./transcript-files.ts";
export { readTranscriptHeads, type TranscriptHead } from "./transcript-heads.ts";
