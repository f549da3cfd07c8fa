// Shared by Bonsai's own packages. May change in any release.
export { raceAbort, sleep } from "./abort.ts";
export { answerUsage, chars4FloorEstimator, isGoodAnswer, UNSEEN_TOKENS } from "./count/estimate.ts";
export { imageProblem } from "./image-file.ts";
export { parseSettings } from "./settings-problem.ts";
export { CALL_ARGUMENTS } from "./text/call-text.ts";
export {
  escapeTag,
  FRAMES,
  framed,
  isNote,
  MESSAGE_TYPES,
  paragraphs,
  RECALL_TOOL,
  recalledIds,
  userContent,
} from "./text/frames.ts";
export {
  escapeMarks,
  escapeTags,
  MARKS,
  placedLines,
  readSummary,
  withoutProse,
} from "./text/marks.ts";
export { readableLines } from "./text/readable-summary.ts";
export { isSecretName } from "./text/secret-rules.ts";
export {
  CallPairs,
  closestNames,
  deepCopy,
  hiddenCharacters,
  jsonDepthProblem,
  splitReminders,
  textPart,
  textTail,
  withoutTerminalControls,
} from "./text/text.ts";
export {
  askedText,
  isProgramText,
  quotedFiles,
  skillCallIn,
  typedCommand,
} from "./text/typed-text.ts";
export { isPlausibleCount, reportedUsage } from "./usage.ts";
