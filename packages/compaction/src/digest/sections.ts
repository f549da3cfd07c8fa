export type SectionName =
  | "goal"
  | "constraints"
  | "done"
  | "inProgress"
  | "blocked"
  | "decisions"
  | "next"
  | "critical";

export type Sections = Record<SectionName, string[]>;

export function emptySections(): Sections {
  return {
    goal: [],
    constraints: [],
    done: [],
    inProgress: [],
    blocked: [],
    decisions: [],
    next: [],
    critical: [],
  };
}
