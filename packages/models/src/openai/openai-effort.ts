import { type ThinkingLevel, thinkingLevels } from "../catalogue-model.ts";
import { type Effort, effortWords as words } from "../model-compat.ts";

/** Efforts by thinking level, for the models whose id fits. */
export type EffortRow = readonly [models: RegExp, efforts: Readonly<Record<ThinkingLevel, Effort>>];

/**
 * The words that a model knows, spread over the levels: each level gets the least that is not below it, or else the
 * most there is. A model that cannot be switched off gets its least for "off".
 */
export function efforts(...known: readonly [Effort, ...Effort[]]): Record<ThinkingLevel, Effort> {
  const wanted: Record<ThinkingLevel, Effort> = {
    off: "none",
    minimal: "minimal",
    low: "low",
    medium: "medium",
    high: "high",
    xhigh: "xhigh",
  };
  const pick = (level: ThinkingLevel): Effort => {
    const rank = words.indexOf(wanted[level]);
    return known.find((word) => words.indexOf(word) >= rank) ?? (known.at(-1) as Effort);
  };
  return Object.fromEntries(thinkingLevels.map((level) => [level, pick(level)])) as Record<
    ThinkingLevel,
    Effort
  >;
}

/** The word for a level, where something is known of the model. */
export function effortOf(
  rows: readonly EffortRow[],
  modelId: string,
  level: ThinkingLevel,
): Effort | undefined {
  return rows.find(([models]) => models.test(modelId))?.[1][level];
}
