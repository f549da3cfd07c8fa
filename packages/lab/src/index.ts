export { labHtml } from "./html.ts";
export { type Policy, policyNamed, policyOf, usualPolicies } from "./policies.ts";
export { recordingOf } from "./recording.ts";
export { type Day, type LabRun, type PlayedPolicy, playPolicies } from "./run.ts";
export { searchSettings } from "./search-settings.ts";
export { headline, labColumns, runNotes, tableRows } from "./table.ts";
