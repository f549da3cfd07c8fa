export { type Outcomes, outcomesAfter } from "./outcomes.ts";
export { ownWords } from "./pasted.ts";
export type { SourceMessage } from "./source.ts";
