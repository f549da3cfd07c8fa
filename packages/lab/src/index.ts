export { labColumns, labHtml, runNotes } from "./html.ts";
export { type Policy, policyNamed, policyOf, usualPolicies } from "./policies.ts";
export { recordingOf } from "./recording.ts";
export { type Day, type LabRun, playPolicies } from "./run.ts";
export { searchSettings } from "./search-settings.ts";
