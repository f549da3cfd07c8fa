import { dropMediaRung, truncateRung } from "./last-rungs.ts";
import { maskRung } from "./mask-rung.ts";
import type { Rung } from "./rung.ts";
import { chunksRung, digestRung, extensionRung, summariseRung } from "./summary-rungs.ts";

/** The ladder, cheapest and least lossy step first. */
export const ladderRungs: readonly Rung[] = [
  maskRung,
  extensionRung,
  summariseRung,
  chunksRung,
  digestRung,
  dropMediaRung,
  truncateRung,
];
