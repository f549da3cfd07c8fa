import type { StageOptions } from "./stage.ts";
import type { Step } from "./steps.ts";

/** One of pi's examples: how it is driven, and what has to come of it. */
export interface ExampleRow extends StageOptions {
  /** Its file without the ending, or its folder. */
  example: string;
  /** What it does where it does its job, in a few words. */
  job: string;
  steps: readonly Step[];
  /** What comes behind them in these versions of pi alone. */
  more?: Readonly<Record<string, readonly Step[]>>;
  /** Why it does not do all of its job here, where that is known. */
  why?: string;
  /** What the machine has to have; where it fails in a shell, the example is not driven. */
  needs?: string;
}
