// Shared by Bonsai's own packages. May change in any release.
export { raceAbort, sleep, untilAborted } from "./abort.ts";
export { CallPairs, type CallResult, callResults } from "./call-results.ts";
export { jsonProblem, parseSettings, settingDescription, shownValue } from "./settings-problem.ts";
