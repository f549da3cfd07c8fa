import { chars4Estimator, estimatorOf, type TokenEstimator } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import type { CompactionSettings } from "./settings.ts";

const chars4FloorEstimator = estimatorOf("chars4Floor", (text) => Math.floor(text.length / 4));

/** The estimator that the settings name; the calibrated one learns from the session's own usage. */
export function estimatorFor({ estimator }: CompactionSettings, _session: Session): TokenEstimator {
  return estimator === "chars4Floor" ? chars4FloorEstimator : chars4Estimator;
}
