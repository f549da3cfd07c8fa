import type { Usage } from "@bonsai-agent/messages";
import { bonsaiModel, type GivenModel, piModel } from "../models/pi-model.ts";

const TOKENS = 1_000_000;

/** Writes what a usage cost in US dollars into it, by the model's prices. */
export function calculateCost(model: GivenModel, usage: Usage): Usage["cost"] {
  const { cost: prices } = piModel(bonsaiModel(model));
  const { cost } = usage;
  cost.input = (usage.input * prices.input) / TOKENS;
  cost.output = (usage.output * prices.output) / TOKENS;
  cost.cacheRead = (usage.cacheRead * prices.cacheRead) / TOKENS;
  cost.cacheWrite = (usage.cacheWrite * prices.cacheWrite) / TOKENS;
  cost.total = cost.input + cost.output + cost.cacheRead + cost.cacheWrite;
  return cost;
}
