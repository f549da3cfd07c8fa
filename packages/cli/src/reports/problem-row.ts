import type { Problem } from "@bonsai-agent/session";

/** One row of `bonsai doctor --json`. */
export type ProblemRow = Pick<Problem, "line" | "kind" | "entryId" | "message" | "repair">;
