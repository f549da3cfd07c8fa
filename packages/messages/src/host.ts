// Shared by Bonsai's own packages. May change in any release.
export { raceAbort, sleep, untilAborted } from "./abort.ts";
export { answerUsage, chars4FloorEstimator, isGoodAnswer, UNSEEN_TOKENS } from "./count/estimate.ts";
export { imageProblem } from "./image-file.ts";
export { jsonProblem, parseSettings, settingDescription, shownValue } from "./settings-problem.ts";
export { CALL_ARGUMENTS } from "./text/call-text.ts";
export {
  BRANCH_RECORD,
  branchFrame,
  CONTINUE_CUSTOM_TYPE,
  escapeFrames,
  escapeTag,
  FRAME_SENTENCES,
  type Frame,
  framed,
  framelessText,
  MERGE_RECORD,
  orphanResultFrame,
  PIN,
  PIN_CUSTOM_TYPE,
  paragraphs,
  RECALL_TOOL,
  RECALLED,
  RECORD,
  recalledIds,
  resultImagesFrame,
  UNPIN,
  UNPIN_CUSTOM_TYPE,
  userContent,
} from "./text/frames.ts";
export {
  CARRIED,
  escapeMarks,
  escapeTags,
  frameTags,
  isOwnTag,
  type OwnTag,
  type PlacedLine,
  placedLines,
  readSummary,
  restoreMarks,
  SPLIT_TURN,
  strippedSummary,
} from "./text/marks.ts";
export { readableLines } from "./text/readable-summary.ts";
export { isSecretName } from "./text/secret-rules.ts";
export { secretsOf, withoutRedactionMarks } from "./text/secrets.ts";
export {
  bashExecutionText,
  CallPairs,
  callResults,
  clip,
  closestNames,
  deepCopy,
  exceedsJsonDepth,
  hiddenCharacters,
  isClipOf,
  MAX_LEVELS,
  splitReminders,
  textPart,
  textTail,
  withoutTerminalControls,
} from "./text/text.ts";
export {
  LeadingThinking,
  splitThinking,
  TAG_CHARS,
  untaggedThinking,
  withoutThinking,
} from "./text/thinking-tags.ts";
export {
  askedText,
  isOfProgram,
  isProgramText,
  type QuotedFiles,
  quotedFiles,
  skillCallIn,
  skillCallText,
  typedCommand,
  withoutSkill,
} from "./text/typed-text.ts";
export { isPlausibleCount, MAX_REQUEST_TOKENS, reportedUsage } from "./usage.ts";
