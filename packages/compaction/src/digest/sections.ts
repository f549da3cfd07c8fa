export const sectionNames = [
  "goal",
  "constraints",
  "done",
  "inProgress",
  "blocked",
  "decisions",
  "next",
  "critical",
] as const;

export type SectionName = (typeof sectionNames)[number];

/** The lines of a summary, by section. */
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
