export type { ClassTokens } from "./bill.ts";
export { type Policy, policyNamed, usualPolicies } from "./policies.ts";
export { type Recording, recordingOf } from "./recording.ts";
export { type Replay, type ReplayOptions, replay } from "./replay.ts";
export { type Tuned, type TuneOptions, tune } from "./tune.ts";
