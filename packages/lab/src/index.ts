export { labHtml, runNotes } from "./html.ts";
export { type Policy, policyNamed, policyOf, usualPolicies } from "./policies.ts";
export { type Recording, recordingOf } from "./recording.ts";
export { compactionCount, type Day, type LabRun, type PolicyResult, playPolicies } from "./run.ts";
export { searchSettings, type Tuned } from "./search-settings.ts";
