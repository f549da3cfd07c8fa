import type { StageOptions } from "./stage.ts";
import type { Step } from "./steps.ts";

/** One of pi's examples: how it is driven, and what has to come of it. */
export interface ExampleRow extends StageOptions {
  /** Its file without the ending, or its folder. */
  example: string;
  /** Its effect in a few words. */
  job: string;
  steps: readonly Step[];
  /** More steps in these versions of pi. */
  more?: Readonly<Record<string, readonly Step[]>>;
  /** Why it does not do all of its job here, where that is known. */
  why?: string;
  /** A shell command. If it fails, the machine lacks something and the example is not driven. */
  needs?: string;
}
